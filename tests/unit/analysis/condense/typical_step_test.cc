#include "analysis/condense/typical_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/analysis/condense/random_device.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TypicalStep, IsTheFirstOneThatLaunchesAsMuchAsTheMedianOne) {
  EXPECT_EQ(TypicalStep({9, 100, 10, 11, 10, 100, 10, 3}, {}), 2) << "decode steps, and two prefills";
  EXPECT_EQ(TypicalStep({9, 10, 10, 10, 3}, {}), 1);
  EXPECT_EQ(TypicalStep({9, 30, 10, 20, 40, 3}, {}), 3) << "the lower of the two in the middle";
}

TEST(TypicalStep, IsNeitherTheFirstNorTheLastOneWhereThereAreOthers) {
  EXPECT_EQ(TypicalStep({10, 25, 10}, {}), 1);
  EXPECT_EQ(TypicalStep({10, 25}, {}), 1) << "the first step warms up";
  EXPECT_EQ(TypicalStep({10}, {}), 0);
}

TEST(TypicalStep, LaunchesSomething) {
  EXPECT_EQ(TypicalStep({0, 7, 0, 0, 5, 0, 6, 0, 0}, {}), 4);
  EXPECT_EQ(TypicalStep({0, 0}, {}), std::nullopt);
  EXPECT_EQ(TypicalStep({}, {}), std::nullopt);
}

TEST(TypicalStep, IsOneOfTheSelectedSteps) {
  EXPECT_EQ(TypicalStep({8, 10, 10, 20, 20, 20, 10}, {.steps = {{false, false, true, true, true, true, false}}}), 3);
}

TEST(TypicalStep, OfASelectedTimeIsNotKnown) {
  EXPECT_EQ(TypicalStep({10, 10, 10, 10}, {.time_ns = {{0, 100}}}), std::nullopt);
}

// Of each name, which kernels of the step they are, in the order in which they start. The oracle shares no code.
std::map<std::string, std::vector<uint32_t>> NaivePlaces(const RandomDevice& device, int32_t step) {
  std::map<std::string, std::vector<uint32_t>> places;
  uint32_t kernels = 0;
  for (const ActivityRecord& record : device.activities) {
    if (record.step == step && record.kind == DeviceKind::kKernel) {
      places[device.names.NameOf(record.name)].push_back(kernels++);
    }
  }
  return places;
}

std::map<std::string, std::vector<uint32_t>> PlacesIn(const std::vector<Batch>& batches) {
  std::map<uint32_t, std::string> names;
  std::map<std::string, std::vector<uint32_t>> places;
  for (const Batch& batch : batches) {
    for (const NameDef& name : batch.names) names[name.id] = name.text;
    for (const KernelRow& row : batch.kernels) {
      if (!row.places.empty()) places[names[row.name]] = row.places;
    }
  }
  return places;
}

TEST(Condenser, KeepsThePlacesOfTheKernelsOfATypicalStep) {
  int steps_of_several_kernels = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const RandomDevice device(seed, seed % 2 == 0);
    std::vector<uint32_t> counts = device.ActivitiesByStep();
    std::vector<uint32_t> inner(counts.begin() + 1, counts.end() - 1);
    std::sort(inner.begin(), inner.end());
    const auto typical = std::find(counts.begin() + 1, counts.end(), inner[(inner.size() - 1) / 2]);
    const auto expected = NaivePlaces(device, static_cast<int32_t>(typical - counts.begin()));
    steps_of_several_kernels += expected.size() > 1 ? 1 : 0;
    EXPECT_EQ(PlacesIn(device.Condense({}, counts)), expected) << "seed " << seed;
  }
  EXPECT_GT(steps_of_several_kernels, 40);
}

TEST(Condenser, KnowsNoPlacesWhereItIsNotKnownWhatStepsLaunch) {
  EXPECT_THAT(PlacesIn(RandomDevice(1).Condense()), IsEmpty());
}

// The tables of a selection hold what was selected, and so do the places.
TEST(Condenser, TakesThePlacesFromASelectedStep) {
  const RandomDevice device(5);
  CondenseSelection selection;
  selection.steps = std::vector<bool>(device.steps.size());
  (*selection.steps)[4] = true;
  EXPECT_EQ(PlacesIn(device.Condense(selection, device.ActivitiesByStep())), NaivePlaces(device, 4));
}

}  // namespace
}  // namespace lockstep
