#include "analysis/metrics/fleet/job_steps.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(job.steps[0].longest_ns, 110);
  EXPECT_EQ(job.steps[0].longest_member, 1U);
  EXPECT_EQ(job.partial, 2U);
  EXPECT_EQ(job.members, (std::vector<size_t>{0, 1}));
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
