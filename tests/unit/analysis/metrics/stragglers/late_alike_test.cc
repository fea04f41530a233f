#include "analysis/metrics/stragglers/late_alike.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace lockstep {
namespace {

// A member is late by so much with this probability, and scatters by 1 otherwise.
struct Habit {
  double probability = 0;
  double late_ns = 0;
};

ExcessOfGroup Drawn(const std::vector<Habit>& members, unsigned seed) {
  constexpr int kUnits = 60;
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 1);
  ExcessOfGroup excess(kUnits);
  for (std::vector<double>& unit : excess) {
    for (const Habit& habit : members) {
      const bool late = std::bernoulli_distribution(habit.probability)(random);
      unit.push_back(noise(random) + (late ? habit.late_ns : 0));
    }
  }
  return excess;
}

double ShareAlike(const std::vector<Habit>& members) {
  constexpr int kDraws = 200;
  double alike = 0;
  for (unsigned seed = 1; seed <= kDraws; ++seed) alike += AreLateAlike(Drawn(members, seed)) ? 1 : 0;
  return alike / kDraws;
}

TEST(AreLateAlike, MembersThatAreLateTogetherOrByTurnsAre) {
  EXPECT_GT(ShareAlike(std::vector<Habit>(2, {1, 50})), 0.99);
  EXPECT_GT(ShareAlike(std::vector<Habit>(8, {1, 50})), 0.99);
  EXPECT_GT(ShareAlike(std::vector<Habit>(2, {0.4, 50})), 0.95);
  EXPECT_GT(ShareAlike(std::vector<Habit>(4, {0.4, 50})), 0.95);
}

// The hosts of eight ranks are busy: some of them are late twice as often as others by chance, and one of them pauses.
TEST(AreLateAlike, ManyThatAreLateByTurnsAre) {
  EXPECT_GT(ShareAlike(std::vector<Habit>(8, {0.2, 50})), 0.9);
  double alike = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    ExcessOfGroup excess = Drawn(std::vector<Habit>(8, {0.4, 50}), seed);
    excess[seed % excess.size()][seed % 8] = 400;
    alike += AreLateAlike(excess) ? 1 : 0;
  }
  EXPECT_GT(alike, 95);
}

TEST(AreLateAlike, TwoThatCostAsMuchInDifferentWaysAreNot) {
  EXPECT_LT(ShareAlike({{1, 20}, {0.25, 80}}), 0.01);
  EXPECT_LT(ShareAlike({{0.5, 30}, {0.2, 75}}), 0.1);
}

TEST(AreLateAlike, OneThatIsLateAloneIsNot) {
  EXPECT_LT(ShareAlike({{1, 50}, {0, 0}}), 0.01);
  EXPECT_LT(ShareAlike({{0.3, 50}, {0, 0}, {0, 0}, {0, 0}}), 0.01);
  EXPECT_LT(ShareAlike({{0.05, 50}, {0, 0}, {0, 0}, {0, 0}}), 0.02);
  EXPECT_LT(ShareAlike({{0.3, 50}, {0.3, 50}, {0.3, 50}, {0, 0}}), 0.01);
}

TEST(AreLateAlike, WithoutAnyMeasurementNobodyIs) {
  EXPECT_FALSE(AreLateAlike({}));
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(AreLateAlike({{none, none}, {none, none}}));
}

TEST(AreLateApart, IsWhatHasLittleInCommon) {
  const ExcessOfGroup apart = Drawn({{1, 20}, {0.25, 80}}, 3);
  std::vector<double> lesser;
  for (const std::vector<double>& unit : apart) lesser.push_back(std::min(unit[0], unit[1]));
  EXPECT_TRUE(AreLateApart(apart, lesser, 2));
  EXPECT_FALSE(AreLateApart(apart, lesser, 50)) << "what is below the floor does not count";
  const ExcessOfGroup together = Drawn({{1, 20}, {1, 40}}, 4);
  lesser.clear();
  for (const std::vector<double>& unit : together) lesser.push_back(std::min(unit[0], unit[1]));
  EXPECT_FALSE(AreLateApart(together, lesser, 2));
  EXPECT_FALSE(AreLateApart({}, {}, 0));
}

}  // namespace
}  // namespace lockstep
