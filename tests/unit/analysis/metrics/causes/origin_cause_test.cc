#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "analysis/metrics/causes/blame.h"
#include "analysis/metrics/causes/host_excess.h"
#include "analysis/metrics/causes/kernel_excess.h"
#include "tests/unit/analysis/metrics/timeline_run.h"

namespace lockstep {
namespace {

struct Launches {
  std::string name;
  int64_t count = 0;
  int64_t each_ns = 0;
  int32_t grid = 0;
};

// Four ranks that run the same kernels (4 names of different weight), rank 2 with a change of its own.
OriginCause ExplainWith(const std::function<void(Launches&)>& change, double of_compute = 0) {
  RunBuilder builder;
  for (int32_t rank = 0; rank < 4; ++rank) {
    SourceBuilder& source = builder.AddRank(rank);
    const uint32_t group = source.Group("g", {0, 1, 2, 3});
    for (int i = 0; i < 10; ++i) source.Collective(group, CollectiveOp::kAllReduce, 1'000 * i, 500);
    std::vector<Launches> kernels = {
        {"gemm", 400, 90'000, 128}, {"attention", 200, 50'000, 64}, {"norm", 400, 6'000, 32}, {"add", 800, 3'000, 16}};
    for (Launches& kernel : kernels) {
      kernel.each_ns += kernel.each_ns * rank / 1'000;  // devices differ a little
      if (rank == 2) change(kernel);
      KernelRow& row = source.Kernel(kernel.name, {});
      Sketch sketch;
      sketch.Add(kernel.each_ns, kernel.count);
      row.slices = {{0, sketch}};
      row.shape.grid[0] = kernel.grid;
      row.shape.grid[1] = row.shape.grid[2] = 1;
      row.has_shape = true;
    }
  }
  const MatchedRun run = Match(builder);
  const ArrivalGraph graph{std::vector<std::vector<ArrivalNode>>(4), {}};
  return ExplainOrigin(run.built.run, run.ranks, graph, 2, LatenessPart::kCompute, of_compute);
}

TEST(OriginCause, AllKernelsSlowerIsASlowDevice) {
  const OriginCause cause = ExplainWith([](Launches& k) { k.each_ns += k.each_ns * 5 / 100; });
  EXPECT_EQ(cause.kind, CauseKind::kSlowDevice);
  EXPECT_NEAR(cause.excess_ratio, 0.05, 0.003);
  EXPECT_EQ(cause.kernel, "");
}

TEST(OriginCause, OneKernelSlowerIsThatKernel) {
  for (const char* name : {"gemm", "norm"}) {
    const OriginCause cause = ExplainWith([&](Launches& k) {
      if (k.name == name) k.each_ns += k.each_ns * 30 / 100;
    });
    EXPECT_EQ(cause.kind, CauseKind::kSlowKernel);
    EXPECT_EQ(cause.kernel, name);
    EXPECT_NEAR(cause.excess_ratio, 0.3, 0.005);
  }
}

TEST(OriginCause, LargerGridsAreMoreWork) {
  const OriginCause cause = ExplainWith([](Launches& k) {
    k.grid += k.grid / 8;
    k.each_ns += k.each_ns / 8;
  });
  EXPECT_EQ(cause.kind, CauseKind::kMoreWork);
}

TEST(OriginCause, MoreLaunchesAreMoreWorkAndNameTheirKernel) {
  const OriginCause cause = ExplainWith([](Launches& k) {
    if (k.name == "attention") k.count += k.count / 5;
  });
  EXPECT_EQ(cause.kind, CauseKind::kMoreWork);
  EXPECT_EQ(cause.kernel, "attention");
  EXPECT_NEAR(cause.excess_ratio, 0.2, 0.005);
}

TEST(OriginCause, ALongerCaptureIsNotMoreWork) {
  RunBuilder builder;
  for (int32_t rank = 0; rank < 3; ++rank) {
    SourceBuilder& source = builder.AddRank(rank);
    const uint32_t group = source.Group("g", {0, 1, 2});
    const int length = rank == 2 ? 20 : 10;
    for (int i = 0; i < length; ++i) source.Collective(group, CollectiveOp::kAllReduce, 1'000 * i, 500);
    source.Kernel("gemm", std::vector<int64_t>(static_cast<size_t>(length), 5'000));
  }
  const MatchedRun run = Match(builder);
  const KernelExcess excess = CompareKernels(run.built.run, run.ranks, 2);
  ASSERT_TRUE(excess.compared);
  EXPECT_NEAR(excess.work, 0, 1e-9);
  EXPECT_NEAR(excess.device, 0, 1e-9);
}

TEST(OriginCause, KernelsAlikeExplainNothing) {
  EXPECT_EQ(ExplainWith([](Launches&) {}).kind, CauseKind::kUnknown);
}

// Late by a fifth of its compute time for other reasons, and slower by a hundredth besides.
TEST(OriginCause, KernelsThatAreALittleSlowerDoNotExplainALargeLateness) {
  const auto slower = [](Launches& k) { k.each_ns += k.each_ns / 100; };
  EXPECT_EQ(ExplainWith(slower, 0.2).kind, CauseKind::kUnknown);
  EXPECT_EQ(ExplainWith(slower, 0.02).kind, CauseKind::kSlowDevice);
}

TEST(OriginCause, ARankAloneHasNoCause) {
  RunBuilder builder;
  builder.AddRank(0).Kernel("gemm", {5, 6});
  const MatchedRun run = Match(builder);
  const ArrivalGraph graph{std::vector<std::vector<ArrivalNode>>(1), {}};
  EXPECT_EQ(ExplainOrigin(run.built.run, run.ranks, graph, 0, LatenessPart::kCompute).kind, CauseKind::kUnknown);
  EXPECT_FALSE(CompareHosts(graph, 0).compared);
}

// Three ranks, 20 steps of 10 collectives; rank 1's host is late by `late_ns` before every `every`-th.
GraphedRun HostRun(int64_t late_ns, int every) {
  TimelineRun run(3, {{0, 1, 2}});
  for (int i = 0; i < 200; ++i) {
    run.SetStep(i / 10);
    run.WorkAll(200'000);
    for (int32_t rank = 0; rank < 3; ++rank) run.Work(rank, 2'000, LatenessPart::kHost);
    if (i % every == 0) run.Work(1, late_ns, LatenessPart::kHost);
    run.Meet(0, 10'000);
  }
  return MakeGraph(run);
}

CauseKind KindOfHost(int64_t late_ns, int every) {
  const GraphedRun run = HostRun(late_ns, every);
  return ExplainOrigin(run.matched.built.run, run.matched.ranks, run.graph, 1, LatenessPart::kHost).kind;
}

TEST(OriginCause, ManySmallHostPartsAreDelays) {
  EXPECT_EQ(KindOfHost(50'000, 3), CauseKind::kHostDelay);
  EXPECT_EQ(KindOfHost(2'000'000, 2), CauseKind::kHostDelay);  // long, but several times a step
}

TEST(OriginCause, FewLongHostPartsArePauses) {
  EXPECT_EQ(KindOfHost(8'000'000, 50), CauseKind::kHostPause);
  EXPECT_EQ(KindOfHost(3'000'000, 10), CauseKind::kHostPause);  // once a step, as a data stall
}

}  // namespace
}  // namespace lockstep
