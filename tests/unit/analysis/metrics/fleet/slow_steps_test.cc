#include "analysis/metrics/fleet/slow_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

// Ranks of twenty steps of 10 ms of computing, the last of them 5 ms longer for a reason that a test gives.
struct Slow {
  explicit Slow(int32_t ranks = 1) {
    for (int32_t number = 0; number < ranks; ++number) {
      SourceBuilder& rank = run.AddRank(number);
      rank.Kernel("gemm_kernel", {kMs});
      int64_t at = 0;
      for (int64_t step = 0; step < 20; ++step) {
        const int64_t span = step == 19 ? 15 * kMs : 10 * kMs + step % 2;
        StepRow& row = rank.Step(step, at, at + span);
        at += span;
        row.tile.compute_ns = std::min(span, 10 * kMs);
        row.kernels = row.launches = 100;
      }
      rank.Window(0, at);
      sources.push_back(&rank);
    }
  }
  StepRow& last() { return sources[0]->data().steps.back(); }
  [[nodiscard]] std::string Why(size_t row = 19) {
    FleetFixture fixture(run);
    fixture.match.instances = instances;
    if (!arrivals.empty()) fixture.match.arrivals = arrivals;
    const FleetMeasures measures = fixture.Measure();
    const Fleet fleet = fixture.Make();
    return SlowSteps(fleet, measures).Why(0, row);
  }
  void Kernels(std::string_view name, int64_t usual_ns, int64_t last_ns, int64_t launches, int64_t last_launches) {
    for (int64_t step = 0; step < 20; ++step) {
      const bool is_last = step == 19;
      sources[0]->data().step_kernels.push_back(
          {step, run.Name(name), is_last ? last_launches : launches, is_last ? last_ns : usual_ns});
    }
  }

  RunBuilder run;
  std::vector<SourceBuilder*> sources;
  std::vector<MatchedInstance> instances;
  std::vector<std::vector<ArrivalOfRow>> arrivals;
};

TEST(SlowSteps, OfAStepWithinTheNoiseNothingIsSaid) {
  Slow slow;
  slow.last().tile.compute_ns = 15 * kMs;
  EXPECT_EQ(slow.Why(7), "");
  EXPECT_NE(slow.Why(19), "");
}

TEST(SlowSteps, FewStepsDoNotTell) {
  Slow slow;
  slow.last().tile.compute_ns = 15 * kMs;
  auto& steps = slow.sources[0]->data().steps;
  steps.erase(steps.begin(), steps.begin() + 16);
  EXPECT_EQ(slow.Why(3), "");
}

TEST(SlowSteps, OfTheLastStepTheWindowThatGoesOnToTheEndOfTheCaptureIsToldAndNothingElse) {
  Slow slow;
  slow.last().tile.compute_ns = 15 * kMs;
  slow.last().last_end_ns = slow.last().window_end_ns - 4 * kMs;
  EXPECT_EQ(
      slow.Why(),
      "5 ms (50 %) longer than the median step: the last one, whose window reaches 4 ms beyond its own work to the "
      "end of the capture");
  slow.last().last_end_ns = slow.last().window_end_ns - 2 * kMs;  // not most of it
  EXPECT_THAT(slow.Why(), HasSubstr("computing +5 ms"));
}

TEST(SlowSteps, WorkThatIsLaunchedInNoStepIsNotLaidToItsKernels) {
  Slow slow;
  slow.last().tile.compute_ns = 15 * kMs;
  slow.last().foreign.compute_ns = 4 * kMs;
  slow.Kernels("slow_gemm_kernel", 4 * kMs, 4 * kMs + 1'000, 40, 40);
  EXPECT_EQ(slow.Why(), "5 ms (50 %) longer than the median step: computing +5 ms, launched in no step");
}

TEST(SlowSteps, TheKernelThatTookLongerIsNamedWithItsFamily) {
  Slow slow;
  slow.last().tile.compute_ns = 15 * kMs;
  slow.Kernels("slow_gemm_kernel", 4 * kMs, 9 * kMs, 40, 40);
  slow.Kernels("flash_fwd_kernel", 2 * kMs, 2 * kMs, 40, 40);
  const std::string why = slow.Why();
  EXPECT_THAT(why, HasSubstr("5 ms (50 %) longer than the median step: computing +5 ms"));
  EXPECT_THAT(why, HasSubstr("slow_gemm_kernel (gemm) +5 ms in as many launches (40)"));
}

TEST(SlowSteps, MoreKernelsAreMoreWork) {
  Slow slow;
  slow.last().tile.compute_ns = 15 * kMs;
  slow.last().kernels = 150;
  slow.Kernels("gemm_kernel", 10 * kMs, 15 * kMs, 100, 150);
  EXPECT_THAT(slow.Why(), HasSubstr("more work: 150 kernels instead of 100"));
  EXPECT_THAT(slow.Why(), HasSubstr("150 launches instead of 100"));
}

TEST(SlowSteps, APauseOfTheHostIsOneGap) {
  Slow slow;
  slow.last().tile.idle_host_ns = 5 * kMs;
  slow.last().longest_gap_ns = 5 * kMs;
  EXPECT_THAT(slow.Why(), HasSubstr("idle for the host +5 ms, one gap of 5 ms"));
}

TEST(SlowSteps, AllocationsThatTheHostWaitsForAreTold) {
  Slow slow;
  slow.last().tile.idle_host_ns = 5 * kMs;
  slow.last().alloc_ns = 4 * kMs;
  EXPECT_THAT(slow.Why(), HasSubstr("allocations +4 ms"));
}

TEST(SlowSteps, WhoWasWaitedForIsTold) {
  Slow slow(2);
  const int64_t begin = 190 * kMs + 10;
  const uint32_t world = slow.sources[0]->Group("0", {0, 1});
  slow.sources[0]->Collective(world, CollectiveOp::kAllReduce, begin + 10 * kMs, 5 * kMs - 10);
  slow.last().tile.comm_ns = 5 * kMs;
  slow.arrivals = {{{begin + 15 * kMs, true, true}}, {}};
  MatchedInstance instance;
  instance.kind = MatchKind::kId;
  instance.confidence = 1;
  instance.comparable = true;
  instance.members = {
      {.rank_index = 0, .start_ns = begin + 10 * kMs, .end_ns = begin + 15 * kMs, .wait_ns = 5 * kMs - 10, .awaits = 1},
      {.rank_index = 1, .start_ns = begin + 15 * kMs, .end_ns = begin + 15 * kMs}};
  slow.instances = {instance};
  EXPECT_THAT(slow.Why(), HasSubstr("waiting for other ranks"));
  EXPECT_THAT(slow.Why(), HasSubstr("for rank 1"));
}

TEST(SlowSteps, AStepIsComparedWithThoseOfItsPhase) {
  Slow slow;
  auto& steps = slow.sources[0]->data().steps;
  for (size_t i = 0; i < steps.size(); ++i) steps[i].phase = i % 2 == 0 ? "decode" : "prefill";
  for (size_t i = 1; i < steps.size(); i += 2) steps[i].tile.span_ns = steps[i].tile.compute_ns = 50 * kMs;
  EXPECT_EQ(slow.Why(11), "") << "as long as other prefills";
}

}  // namespace
}  // namespace lockstep
