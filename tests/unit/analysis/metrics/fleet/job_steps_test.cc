#include "analysis/metrics/fleet/job_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

TEST(JobSteps, AreThoseThatEveryRankHasAndTheOthersAreCounted) {
  RunBuilder run;
  auto& whole = run.AddRank(0);
  for (int step = 1; step <= 4; ++step) whole.Step(step, step * 100, (step + 1) * 100);
  auto& shorter = run.AddRank(1);
  for (int step = 2; step <= 3; ++step) shorter.Step(step, step * 100, (step + 1) * 100 + 5 * step);
  FleetFixture fixture(run);
  const JobSteps job = ComputeJobSteps(fixture.Make());
  ASSERT_EQ(job.steps.size(), 2U);
  EXPECT_EQ(job.steps[0].number, 2);
  EXPECT_EQ(job.steps[0].time_ns, 110);
  EXPECT_EQ(job.steps[1].time_ns, 115);
  EXPECT_EQ(job.partial, 2U);
  EXPECT_EQ(job.members, (std::vector<size_t>{0, 1}));
}

TEST(JobSteps, AddUpToTheRunWhoeverIsLateInThem) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int64_t> length(50, 150);
    RunBuilder run;
    int64_t first_ns = 0;  // the longest first step
    int64_t last_begin = 0;
    int64_t last_end = 0;
    for (int32_t rank = 0; rank < 4; ++rank) {
      auto& source = run.AddRank(rank);
      int64_t at = length(random);
      const int64_t begin = at;
      for (int step = 0; step < 12; ++step) {
        const int64_t end = std::max((step + 1) * int64_t{200}, at) + length(random);  // they wait for each other
        source.Step(step, at, end);
        at = end;
        if (step == 0) first_ns = std::max(first_ns, end - begin);
        if (step == 0) last_begin = std::max(last_begin, end);
      }
      last_end = std::max(last_end, at);
    }
    FleetFixture fixture(run);
    int64_t sum = 0;
    for (const JobStep& step : ComputeJobSteps(fixture.Make()).steps) sum += step.time_ns;
    EXPECT_EQ(sum, first_ns + last_end - last_begin);
  }
}

TEST(JobSteps, ARankWithoutStepsIsNoMember) {
  RunBuilder run;
  run.AddRank(0).Step(1, 0, 100);
  (void)run.AddRank(1);
  FleetFixture fixture(run);
  const JobSteps job = ComputeJobSteps(fixture.Make());
  EXPECT_EQ(job.members, (std::vector<size_t>{0}));
  EXPECT_EQ(job.steps.size(), 1U);
}

TEST(JobSteps, OfRanksThatNumberThemselvesAreNotComparable) {
  RunBuilder run;
  auto& rank = run.AddRank(0);
  rank.data().context.step_source = StepSource::kDetected;
  rank.Step(0, 0, 100);
  FleetFixture fixture(run);
  EXPECT_FALSE(ComputeJobSteps(fixture.Make()).comparable);
}

}  // namespace
}  // namespace lockstep
