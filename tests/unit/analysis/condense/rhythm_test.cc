#include "analysis/condense/rhythm.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lockstep {
namespace {

// Tokens of a made-up decoder: 1..4 a layer, 10 the embedding, 11 and 12 the head and the sampler.
constexpr uint32_t kEmbedding = 10;

void AddStep(std::vector<LaunchUnit>& units, int layers) {
  units.push_back({kEmbedding, 5'000});
  for (int layer = 0; layer < layers; ++layer) {
    for (uint32_t token = 1; token <= 4; ++token) units.push_back({token, 100});
  }
  units.push_back({11, 100});
  units.push_back({12, 100});
}

TEST(Rhythm, AStepIsWhatHoldsTheLayersAndWhatSurroundsThem) {
  std::vector<LaunchUnit> units;
  for (int step = 0; step < 10; ++step) AddStep(units, 24);
  const auto rhythm = FindRhythm(units);
  ASSERT_TRUE(rhythm);
  EXPECT_EQ(rhythm->anchor, kEmbedding) << "before it the device pauses longest";
  EXPECT_EQ(rhythm->units_per_step, 99U);
}

TEST(Rhythm, ACaptureThatBeginsAndEndsInsideAStepHasTheSameRhythm) {
  std::vector<LaunchUnit> units;
  for (int step = 0; step < 8; ++step) AddStep(units, 24);
  const std::vector<LaunchUnit> cut(units.begin() + 40, units.end() - 30);
  const auto rhythm = FindRhythm(cut);
  ASSERT_TRUE(rhythm);
  EXPECT_EQ(rhythm->anchor, kEmbedding);
}

TEST(Rhythm, TheLayersOfASinglePassAreNoSteps) {
  std::vector<LaunchUnit> units;
  AddStep(units, 36);
  EXPECT_FALSE(FindRhythm(units));
}

TEST(Rhythm, MicroBatchesOfATrainingStepAreNoSteps) {
  std::vector<LaunchUnit> units;
  for (int step = 0; step < 6; ++step) {
    for (int micro_batch = 0; micro_batch < 8; ++micro_batch) {
      for (uint32_t token = 1; token <= 20; ++token) units.push_back({token, 100});
    }
    for (uint32_t token = 30; token <= 33; ++token) units.push_back({token, token == 30 ? 3'000 : 100});
  }
  const auto rhythm = FindRhythm(units);
  ASSERT_TRUE(rhythm);
  EXPECT_EQ(rhythm->units_per_step, 164U);
}

TEST(Rhythm, ReplaysOfOneGraphAreSteps) {
  const std::vector<LaunchUnit> units(12, {7, 1'000});
  const auto rhythm = FindRhythm(units);
  ASSERT_TRUE(rhythm);
  EXPECT_EQ(rhythm->units_per_step, 1U);
}

TEST(Rhythm, APrefillNowAndThenDoesNotHideTheDecodeSteps) {
  std::vector<LaunchUnit> units;
  for (int step = 0; step < 60; ++step) {
    AddStep(units, 24);
    if (step % 17 == 5) units.insert(units.end(), {{kEmbedding, 3'000}, {21, 100}, {11, 100}, {12, 100}});
  }
  const auto rhythm = FindRhythm(units);
  ASSERT_TRUE(rhythm);
  EXPECT_EQ(rhythm->units_per_step, 99U);
}

TEST(Rhythm, WorkWithoutOrderHasNone) {
  std::mt19937_64 random(3);
  std::vector<LaunchUnit> units;
  for (int i = 0; i < 5'000; ++i) units.push_back({static_cast<uint32_t>(random() % 40), 100});
  EXPECT_FALSE(FindRhythm(units));
}

TEST(Rhythm, ThreeRoundsAreTooFew) {
  std::vector<LaunchUnit> units;
  for (int step = 0; step < 3; ++step) AddStep(units, 1);
  EXPECT_FALSE(FindRhythm(units));
  EXPECT_FALSE(FindRhythm({}));
}

}  // namespace
}  // namespace lockstep
