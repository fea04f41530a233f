#include "analysis/compare/statistics/false_discovery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace lockstep::compare {
namespace {

TEST(FoundAmong, IsTheExampleOfBenjaminiAndHochberg) {
  // Their table of fifteen p values, q = 0.05: the first four are found.
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const std::vector<bool> found = FoundAmong(p);
  for (size_t i = 0; i < p.size(); ++i) EXPECT_EQ(found[i], i < 4) << i;
}

TEST(FoundAmong, KeepsTheShareOfWrongOnes) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  double share = 0;
  constexpr int kTrials = 2'000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> p;
    for (int i = 0; i < 100; ++i) p.push_back(i < 20 ? uniform(random) * 1e-3 : uniform(random));
    const std::vector<bool> found = FoundAmong(p);
    const auto all = std::count(found.begin(), found.end(), true);
    const auto wrong = std::count(found.begin() + 20, found.end(), true);
    if (all > 0) share += static_cast<double>(wrong) / static_cast<double>(all);
  }
  EXPECT_NEAR(share / kTrials, 0.04, 0.01);  // q times the share of tests without a change
}

TEST(FoundAmong, TheOrderOfTestsMakesNoDifference) {
  const std::vector<bool> found = FoundAmong(std::vector<double>{0.5, 0.001, std::nan(""), 0.02, 0.001});
  EXPECT_EQ(found, (std::vector<bool>{false, true, false, true, true}));
  EXPECT_TRUE(FoundAmong({}).empty());
}

}  // namespace
}  // namespace lockstep::compare
