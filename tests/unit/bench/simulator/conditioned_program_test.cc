#include "bench/simulator/program/conditioned_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "bench/simulator/engine/simulation.h"
#include "tests/unit/bench/simulator/simulator_fixture.h"

namespace lockstep {
namespace {

using Values = std::map<std::string, std::string>;

// A small run and what its causes have made of its program.
struct ChangedRun {
  explicit ChangedRun(const SimulatorOptions& options) : plain(options) {
    program = std::make_unique<ConditionedProgram>(What(), plain.causes, std::nullopt);
  }
  [[nodiscard]] PlainProgram What() const { return {&plain.options, plain.program.get(), plain.cluster.world()}; }
  [[nodiscard]] int64_t Count(OpKind kind, int32_t rank = 0, int32_t step = 0) const {
    const std::vector<Op>& ops = program->StepOf(step, rank).ops;
    return std::count_if(ops.begin(), ops.end(), [&](const Op& op) { return op.kind == kind; });
  }
  [[nodiscard]] std::vector<RankTimeline> Simulated() const { return Of(*program); }
  [[nodiscard]] std::vector<RankTimeline> Of(const StepProgram& what) const {
    const CauseEffects effects(plain.causes, std::nullopt, plain.cluster.world(), plain.rng, &plain.cluster, &what,
                               plain.options.steps);
    return Simulate({.cluster = &plain.cluster,
                     .program = &what,
                     .effects = &effects,
                     .rng = plain.rng,
                     .noise = plain.options.noise,
                     .steps = plain.options.steps,
                     .start_ns = CausedRun::kStartNs});
  }

  CausedRun plain;
  std::unique_ptr<ConditionedProgram> program;
};

ChangedRun Changed(const std::string& kind, const Values& values) { return ChangedRun(SmallDecode({{kind, values}})); }

TEST(ConditionedProgram, SynchronisesAfterEveryNthLayer) {
  const ChangedRun run = Changed("sync", {{"every", "2"}});
  EXPECT_EQ(run.Count(OpKind::kStreamSync), 1 + run.plain.options.layers / 2);
}

TEST(ConditionedProgram, MakesAsManyAllocationCallsAsAskedFor) {
  const ChangedRun run = Changed("alloc", {{"calls", "9"}});
  EXPECT_EQ(run.Count(OpKind::kAllocate), 5);
  EXPECT_EQ(run.Count(OpKind::kFree), 4);
}

TEST(ConditionedProgram, AnAllocationHoldsTheHostAsLongAsItsCallLasts) {
  const ChangedRun run = Changed("alloc", {{"calls", "4"}, {"us", "500"}});
  int64_t sum = 0;
  int64_t calls = 0;
  int64_t above = 0;
  const std::vector<RankTimeline> ranks = run.Simulated();
  for (const RankTimeline& rank : ranks) {
    for (const Activity& activity : rank.activities) {
      const OpKind kind = run.program->StepOf(activity.step, 0).ops[activity.op].kind;
      if (kind != OpKind::kAllocate && kind != OpKind::kFree) continue;
      const int64_t length = activity.call_end_ns - activity.call_start_ns;
      sum += length;
      above += length > 1'000'000 ? 1 : 0;
      ++calls;
    }
  }
  ASSERT_EQ(calls, 4 * 8 * 12);
  EXPECT_NEAR(static_cast<double>(sum) / static_cast<double>(calls), 500e3, 60e3);
  EXPECT_GT(above, 0);
}

TEST(ConditionedProgram, ACopyOfPageableMemoryHoldsTheHostUntilItIsDone) {
  const ChangedRun run = Changed("host_copies", {{"count", "3"}, {"mb", "1"}});
  int64_t copies = 0;
  const std::vector<RankTimeline> ranks = run.Simulated();
  for (const Activity& activity : ranks.front().activities) {
    const Op& op = run.program->StepOf(activity.step, 0).ops[activity.op];
    if (!op.pageable) continue;
    ++copies;
    EXPECT_EQ(op.bytes, 1'000'000);
    EXPECT_GT(activity.call_end_ns, activity.end_ns);
  }
  EXPECT_EQ(copies, 2 * 3 * run.plain.options.steps);
}

TEST(ConditionedProgram, CopiesOnTheDeviceTakeTheShareOfComputeThatIsAskedFor) {
  const ChangedRun run = Changed("big_copies", {{"factor", "0.5"}});
  int64_t compute = 0;
  int64_t copies = 0;
  for (const Op& op : run.program->StepOf(0, 0).ops) {
    if (op.kind == OpKind::kKernel) compute += op.device_ns;
    if (op.copy == CopyKind::kDeviceToDevice) copies += op.device_ns;
  }
  EXPECT_NEAR(static_cast<double>(copies) / static_cast<double>(compute), 0.5, 0.05);
}

TEST(ConditionedProgram, SmallKernelsReplaceElementwiseOnesOnly) {
  const ChangedRun run = Changed("small_kernels", {{"split", "5"}});
  const std::vector<Op>& before = run.plain.program->StepOf(0, 0).ops;
  const auto elementwise = std::count_if(before.begin(), before.end(), [&](const Op& op) {
    const std::string& name = run.plain.program->kernels()[op.kernel].short_name;
    return op.kind == OpKind::kKernel &&
           (name == "fused_add_rms_norm_kernel" || name == "rotary_embedding_kernel" || name == "act_and_mul_kernel");
  });
  const auto kernels =
      std::count_if(before.begin(), before.end(), [](const Op& op) { return op.kind == OpKind::kKernel; });
  EXPECT_EQ(elementwise, 4 * run.plain.options.layers + 1);
  EXPECT_EQ(run.Count(OpKind::kKernel), kernels + 4 * elementwise);
  for (const Op& op : run.program->StepOf(0, 0).ops) {
    if (op.kind != OpKind::kKernel) continue;
    EXPECT_THAT(run.program->kernels()[op.kernel].short_name, ::testing::Not(::testing::HasSubstr("act_and_mul")));
  }
}

TEST(ConditionedProgram, InAGraphThePiecesAreReplayedWithTheRest) {
  SimulatorOptions options = SmallDecode({{"small_kernels", {{"split", "3"}}}});
  options.graphs = true;
  const ChangedRun run(options);
  const std::vector<Op>& ops = run.program->StepOf(0, 0).ops;
  for (uint32_t i = 0; i < ops.size(); ++i) {
    if (ops[i].kind == OpKind::kKernel) {
      EXPECT_TRUE(ops[i].in_graph);
      EXPECT_EQ(ops[ops[i].first_of_call].kind, OpKind::kGraphLaunch);
    }
  }
  EXPECT_GT(run.Simulated().front().activities.size(), 0U);
}

TEST(ConditionedProgram, RangesStillEncloseTheSameOps) {
  SimulatorOptions options = SmallDecode({{"alloc", {{"calls", "7"}}}, {"small_kernels", {}}});
  options.program = ProgramKind::kTrain;
  options.layers = 2;
  const ChangedRun run(options);
  const StepOps& before = run.plain.program->StepOf(0, 0);
  const StepOps& after = run.program->StepOf(0, 0);
  ASSERT_EQ(before.ranges.size(), after.ranges.size());
  for (size_t i = 0; i < before.ranges.size(); ++i) {
    EXPECT_EQ(DrawNumber(after.ops[after.ranges[i].first_op], 0), before.ranges[i].first_op);
    EXPECT_EQ(after.ops[after.ranges[i].last_op].kind, before.ops[before.ranges[i].last_op].kind);
  }
}

TEST(ConditionedProgram, ACauseOfOneRankLeavesTheOthersTheirProgram) {
  const ChangedRun run = Changed("sync", {{"rank", "3"}});
  EXPECT_EQ(run.Count(OpKind::kStreamSync, 2), 1);
  EXPECT_EQ(run.Count(OpKind::kStreamSync, 3), 1 + run.plain.options.layers);
}

TEST(ConditionedProgram, APromptComesEveryNthStepOnAllRanks) {
  const ChangedRun run = Changed("prefill_mix", {{"every", "4"}});
  for (int32_t step = 0; step < 12; ++step) {
    const StepOps& ops = run.program->StepOf(step, step % 8);
    EXPECT_EQ(ops.ranges.front().name.find("EXTEND") != std::string::npos, step % 4 == 3) << step;
  }
}

TEST(ConditionedProgram, UnevenTrafficEnlargesAllButTheLastLargeMessageAmongTheReplicasOfARank) {
  const SimulatorOptions train{.program = ProgramKind::kTrain, .tp = 2, .dp = 4, .steps = 2, .layers = 12};
  SimulatorOptions uneven = train;
  uneven.causes = {{"uneven_traffic", {{"rank", "1"}, {"factor", "3"}}}};
  const ChangedRun run(uneven);
  EXPECT_EQ(run.plain.causes.front().ranks, (std::vector<int32_t>{1, 3, 5, 7}));
  const CausedRun plain(train);
  for (int32_t rank = 0; rank < 8; ++rank) {
    const std::vector<Op>& changed = run.program->StepOf(0, rank).ops;
    const std::vector<Op>& usual = plain.program->StepOf(0, rank).ops;
    ASSERT_EQ(changed.size(), usual.size());
    std::vector<int64_t> times;
    for (size_t i = 0; i < usual.size(); ++i) {
      const bool large = usual[i].kind == OpKind::kCollective && usual[i].group == GroupKind::kDp;
      if (large) times.push_back(changed[i].bytes / usual[i].bytes);
    }
    EXPECT_EQ(times, rank % 2 == 1 ? (std::vector<int64_t>{3, 3, 1}) : (std::vector<int64_t>{1, 1, 1})) << rank;
  }
}

TEST(ConditionedProgram, LeavingOneOutGivesTheProgramWithoutIt) {
  const ChangedRun both(SmallDecode({{"small_kernels", {}}, {"sync", {}}}));
  const ChangedRun split = Changed("small_kernels", {});
  const ConditionedProgram left(both.What(), both.plain.causes, 1);
  EXPECT_EQ(left.StepOf(0, 0).ops.size(), split.program->StepOf(0, 0).ops.size());
  EXPECT_EQ(left.kernels().size(), both.program->kernels().size());
  EXPECT_EQ(MeanStepNs(both.Of(left)), MeanStepNs(split.Simulated()));
}

TEST(ConditionedProgram, WithAllLeftOutARunIsThePlainOne) {
  const ChangedRun run = Changed("alloc", {});
  const ConditionedProgram without(run.What(), run.plain.causes, 0);
  EXPECT_EQ(MeanStepNs(run.Of(without)), MeanStepNs(CausedRun(SmallDecode()).Simulated()));
}

TEST(ConditionedProgram, WhatIsAddedShiftsNoRandomNumberOfTheRest) {
  const ChangedRun run = Changed("big_copies", {});
  const auto with = run.Simulated();
  const auto without = CausedRun(SmallDecode()).Simulated();
  const auto lengths = [](const RankTimeline& rank, const StepProgram& program) {
    std::vector<int64_t> list;
    for (const Activity& activity : rank.activities) {
      if (program.StepOf(activity.step, 5).ops[activity.op].kind != OpKind::kKernel) continue;
      list.push_back(activity.end_ns - activity.start_ns);
    }
    return list;
  };
  EXPECT_EQ(lengths(with[5], *run.program), lengths(without[5], *run.plain.program));
}

}  // namespace
}  // namespace lockstep
