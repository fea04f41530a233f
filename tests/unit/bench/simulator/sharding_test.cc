// Replicas that divide parameters, gradients and the optimizer's state; broadcasts and reductions; unequal sequences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/model/kernel_class.h"
#include "tests/unit/bench/simulator/simulator_fixture.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

SimulatorOptions ShardedTrain(Sharding shard, int32_t layers) {
  return {.program = ProgramKind::kTrain, .tp = 1, .dp = 4, .steps = 1, .layers = layers, .seed = 3, .shard = shard};
}

int Count(const StepOps& step, CollectiveOp collective) {
  int count = 0;
  for (const Op& op : step.ops) count += op.kind == OpKind::kCollective && op.collective == collective ? 1 : 0;
  return count;
}

TEST(FullSharding, LayersAreGatheredTwiceAndTheirGradientsScatteredOnce) {
  const CausedRun run(ShardedTrain(Sharding::kFull, 6));
  const StepOps& step = run.program->StepOf(0, 0);
  EXPECT_EQ(Count(step, CollectiveOp::kAllGather), 12);
  EXPECT_EQ(Count(step, CollectiveOp::kReduceScatter), 6);
  EXPECT_EQ(Count(step, CollectiveOp::kAllReduce), 3);
}

// What one rank did, by what the ops are.
struct Done {
  std::vector<Activity> gathers;
  std::vector<Activity> scatters;
  std::vector<Activity> norms;  // two at the begin of each half of a layer's forward pass
};
Done DoneBy(const CausedRun& run, const RankTimeline& timeline) {
  Done done;
  for (const Activity& activity : timeline.activities) {
    const Op& op = run.OpOf(0, activity);
    if (op.collective == CollectiveOp::kAllGather) done.gathers.push_back(activity);
    if (op.collective == CollectiveOp::kReduceScatter) done.scatters.push_back(activity);
    if (op.kind != OpKind::kKernel) continue;
    if (run.program->kernels()[op.kernel].short_name == "vectorized_layer_norm_kernel") done.norms.push_back(activity);
  }
  return done;
}

TEST(FullSharding, NoLayerBeginsBeforeItsParametersHaveCome) {
  const CausedRun run(ShardedTrain(Sharding::kFull, 6));
  const Done done = DoneBy(run, run.Simulated()[0]);
  ASSERT_EQ(done.norms.size(), 12U);
  for (size_t layer = 0; layer < 6; ++layer) {
    EXPECT_GE(done.norms[2 * layer].start_ns, done.gathers[layer].end_ns) << layer;
  }
}

TEST(FullSharding, TheNextLayersParametersComeUnderThisLayersWork) {
  const CausedRun run(ShardedTrain(Sharding::kFull, 6));
  const Done done = DoneBy(run, run.Simulated()[0]);
  for (size_t layer = 0; layer + 1 < 6; ++layer) {
    EXPECT_LT(done.gathers[layer + 1].start_ns, done.norms[2 * layer + 1].start_ns) << layer;
  }
}

TEST(OptimizerSharding, OwnersTakeTurns) {
  const CausedRun run(ShardedTrain(Sharding::kOptimizer, 20));
  std::vector<int32_t> reduced;
  std::vector<int32_t> broadcast;
  for (const Op& op : run.program->StepOf(0, 2).ops) {
    if (op.kind != OpKind::kCollective || op.bytes < (1 << 20)) continue;
    if (op.collective == CollectiveOp::kReduce) reduced.push_back(op.root);
    if (op.collective == CollectiveOp::kBroadcast) broadcast.push_back(op.root);
  }
  EXPECT_THAT(reduced, ElementsAre(0, 1, 2, 3, 0));
  EXPECT_THAT(broadcast, ElementsAre(0, 1, 2, 3, 0));
}

TEST(OptimizerSharding, KernelNamesTellBroadcastsAndReductions) {
  for (const int32_t year : {2021, 2026}) {
    SimulatorOptions options = ShardedTrain(Sharding::kOptimizer, 4);
    options.kineto_version = year;
    const CausedRun run(options);
    std::set<CollectiveOp> seen;
    for (const Op& op : run.program->StepOf(0, 0).ops) {
      if (op.kind != OpKind::kCollective) continue;
      EXPECT_EQ(ClassifyKernel(run.program->kernels()[op.kernel].name).op, op.collective);
      seen.insert(op.collective);
    }
    EXPECT_THAT(seen, ElementsAre(CollectiveOp::kAllReduce, CollectiveOp::kBroadcast, CollectiveOp::kReduce));
  }
}

constexpr int32_t kRoot = 2;
constexpr int64_t kSmall = 4'096;
constexpr int64_t kLarge = 64 << 20;

// Four ranks, one of which comes a millisecond late.
std::vector<Activity> WithALateRank(CollectiveOp collective, int64_t bytes, size_t late) {
  const CausedRun run({.tp = 1, .dp = 4, .steps = 1});
  std::vector<StepOps> by_rank;
  for (size_t rank = 0; rank < 4; ++rank) {
    Op op{
        .kind = OpKind::kCollective, .group = GroupKind::kDp, .collective = collective, .root = kRoot, .bytes = bytes};
    if (rank == late) op.host_before_ns = 1'000'000;
    by_rank.push_back({.ops = {op}, .ranges = {}});
  }
  const GivenProgram program(std::move(by_rank));
  const CauseEffects effects({}, std::nullopt, 4, run.rng);
  const auto ranks = Simulate({.cluster = &run.cluster, .program = &program, .effects = &effects, .rng = run.rng});
  std::vector<Activity> done;
  for (const RankTimeline& timeline : ranks) done.push_back(timeline.activities.front());
  return done;
}

TEST(Broadcast, NobodyEndsBeforeTheRootHasStarted) {
  for (const int64_t bytes : {kSmall, kLarge}) {
    const auto done = WithALateRank(CollectiveOp::kBroadcast, bytes, kRoot);
    for (const Activity& activity : done) EXPECT_GT(activity.end_ns, done[kRoot].start_ns);
  }
}

TEST(Broadcast, TheRootHandsASmallMessageOverAndALargeOneNot) {
  for (size_t late = 0; late < 4; ++late) {
    if (late == kRoot) continue;
    const auto small = WithALateRank(CollectiveOp::kBroadcast, kSmall, late);
    EXPECT_LT(small[kRoot].end_ns, small[late].start_ns);
    const auto large = WithALateRank(CollectiveOp::kBroadcast, kLarge, late);
    EXPECT_GT(large[kRoot].end_ns, large[late].start_ns);
  }
}

// Of the ring 2 - 3 - 0 - 1 rank 3 stands between the root and the others.
TEST(Broadcast, DataPassesThroughTheRanksBetween) {
  const auto done = WithALateRank(CollectiveOp::kBroadcast, kSmall, 3);
  EXPECT_GT(done[0].end_ns, done[3].start_ns);
  EXPECT_GT(done[1].end_ns, done[3].start_ns);
  const auto last = WithALateRank(CollectiveOp::kBroadcast, kSmall, 1);
  EXPECT_LT(last[0].end_ns, last[1].start_ns);
  EXPECT_LT(last[3].end_ns, last[1].start_ns);
}

TEST(Reduction, TheRootEndsAfterEverybodyHasStarted) {
  for (const int64_t bytes : {kSmall, kLarge}) {
    for (size_t late = 0; late < 4; ++late) {
      const auto done = WithALateRank(CollectiveOp::kReduce, bytes, late);
      EXPECT_GT(done[kRoot].end_ns, done[late].start_ns);
    }
  }
}

TEST(Reduction, NobodyWaitsForALateRootWithASmallMessage) {
  const auto done = WithALateRank(CollectiveOp::kReduce, kSmall, kRoot);
  for (const size_t rank : {0, 1, 3}) EXPECT_LT(done[rank].end_ns, done[kRoot].start_ns);
}

TEST(Lengths, RanksOfOneReplicaWorkAlikeAndReplicasDiffer) {
  const CausedRun run({.program = ProgramKind::kTrain, .tp = 2, .pp = 2, .dp = 4, .steps = 1, .layers = 2});
  CauseEffects effects = run.Effects();
  effects.VaryLengths(0.1, run.cluster);
  double square = 0;
  constexpr int kSteps = 2'000;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::set<double> factors;
    for (int32_t rank = 0; rank < 16; ++rank) {
      const int32_t replica = rank / 2 % 4;
      EXPECT_EQ(effects.WorkFactor(rank, step), effects.WorkFactor(2 * replica, step));
      factors.insert(effects.WorkFactor(rank, step));
    }
    square += std::pow(effects.WorkFactor(0, step) - 1, 2) / kSteps;
    if (step < 3) {
      EXPECT_GT(factors.size(), 1U);
    }
  }
  EXPECT_NEAR(std::sqrt(square), 0.1, 0.01);
}

TEST(Lengths, TheyAreThereWithoutTheCauseToo) {
  SimulatorOptions options = ShardedTrain(Sharding::kNone, 2);
  options.causes = {{"more_work", {{"rank", "1"}, {"factor", "1.2"}}}};
  const CausedRun run(options);
  CauseEffects with = run.Effects();
  CauseEffects without = run.Effects(0);
  with.VaryLengths(0.1, run.cluster);
  without.VaryLengths(0.1, run.cluster);
  for (int64_t step = 0; step < 20; ++step) {
    EXPECT_DOUBLE_EQ(with.WorkFactor(1, step), 1.2 * without.WorkFactor(1, step));
    EXPECT_EQ(with.WorkFactor(0, step), without.WorkFactor(0, step));
  }
}

}  // namespace
}  // namespace lockstep
