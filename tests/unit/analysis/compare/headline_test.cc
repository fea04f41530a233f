#include "analysis/compare/headline.h"

#include <gtest/gtest.h>

#include <utility>

namespace lockstep::compare {
namespace {

report::ComparisonDocument SlowerBy(double ratio, std::pair<double, double> interval) {
  report::ComparisonDocument document;
  document.comparable.verdict = "yes";
  report::MetricChange& step = document.metrics.emplace_back();
  step.metric = "step_time";
  step.unit = "ns";
  step.base = 1e6;
  step.fresh = 1e6 * (1 + ratio);
  step.change_ratio = ratio;
  step.interval_ratio = interval;
  step.verdict = "slower";
  return document;
}

TEST(Headline, TellsAChangeAndItsIntervalInOneUnit) {
  EXPECT_EQ(HeadlineOf(SlowerBy(0.5, {0.4, 12})).sentence,
            "Slower by 50.0 % (95 % interval +40.0 % to +1200.0 %): 1.50 ms a step instead of 1 ms.");
  EXPECT_EQ(HeadlineOf(SlowerBy(11, {8, 14})).sentence,
            "Slower by a factor of 12 (95 % interval 9x to 15x): 12 ms a step instead of 1 ms.");
}

}  // namespace
}  // namespace lockstep::compare
