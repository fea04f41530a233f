#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "analysis/model/kernel_class.h"
#include "bench/simulator/engine/device_model.h"
#include "bench/simulator/engine/exchange.h"
#include "bench/simulator/engine/op_draws.h"
#include "bench/simulator/engine/simulation.h"
#include "tests/unit/bench/simulator/simulator_fixture.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

SimulatorOptions Complete(SimulatorOptions options) {
  EXPECT_TRUE(CompleteLayout(options).ok());
  return options;
}

std::vector<const Op*> CollectivesOf(const StepOps& step) {
  std::vector<const Op*> found;
  for (const Op& op : step.ops) {
    if (op.kind == OpKind::kCollective) found.push_back(&op);
  }
  return found;
}

std::vector<RankTimeline> Simulated(const SimulatorOptions& options, const Cluster& cluster,
                                    const StepProgram& program) {
  const CounterRng rng(options.seed);
  const CauseEffects effects({}, std::nullopt, cluster.world(), rng);
  return Simulate({.cluster = &cluster,
                   .program = &program,
                   .effects = &effects,
                   .rng = rng,
                   .noise = options.noise,
                   .steps = options.steps,
                   .start_ns = 1'000'000});
}

TEST(Cluster, TensorVariesFastestThenDataThenStages) {
  const SimulatorOptions options = Complete({.tp = 2, .pp = 2, .dp = 4, .ep = 2, .hosts = 2});
  const Cluster cluster = MakeCluster(options, CounterRng(1));
  const auto members = [&](int32_t rank, GroupKind kind) {
    return cluster.communicators[static_cast<size_t>(cluster.CommunicatorOf(rank, kind))].members;
  };
  EXPECT_THAT(members(5, GroupKind::kTp), ElementsAre(4, 5));
  EXPECT_THAT(members(5, GroupKind::kDp), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(members(5, GroupKind::kEp), ElementsAre(5, 7));
  EXPECT_THAT(members(5, GroupKind::kPp), ElementsAre(5, 13));
  EXPECT_EQ(members(5, GroupKind::kWorld).size(), 16U);
  EXPECT_EQ(cluster.ranks[12].stage, 1);
}

TEST(Cluster, KindsWithEqualMembersShareACommunicator) {
  const SimulatorOptions options = Complete({.tp = 2, .dp = 4, .ep = 4});
  const Cluster cluster = MakeCluster(options, CounterRng(1));
  EXPECT_EQ(cluster.CommunicatorOf(3, GroupKind::kEp), cluster.CommunicatorOf(3, GroupKind::kDp));
  const Cluster flat = MakeCluster(Complete({.tp = 1, .pp = 4}), CounterRng(1));
  EXPECT_EQ(flat.CommunicatorOf(3, GroupKind::kWorld), flat.CommunicatorOf(3, GroupKind::kPp));
}

TEST(Cluster, MeetingsOfDifferentGroupsAndPairsAreDifferent) {
  const Cluster cluster = MakeCluster(Complete({.tp = 2, .pp = 4, .dp = 2}), CounterRng(1));
  std::set<uint32_t> seen;
  for (size_t i = 0; i < cluster.communicators.size(); ++i) {
    const auto index = static_cast<int32_t>(i);
    EXPECT_TRUE(seen.insert(cluster.MeetingOf(index)).second);
    for (size_t pair = 0; pair + 1 < cluster.communicators[i].members.size(); ++pair) {
      EXPECT_TRUE(seen.insert(cluster.PairMeetingOf(index, static_cast<int32_t>(pair))).second);
    }
  }
  EXPECT_EQ(seen.size(), cluster.meetings);
}

TEST(Programs, DecodingReducesTwiceALayerAndOnceForTheEmbedding) {
  for (const auto& [layers, reductions] : {std::pair{43, 87U}, {79, 159U}}) {
    const SimulatorOptions options = Complete({.tp = 2, .layers = layers, .all_reduce = AllReduceKind::kCustom});
    EXPECT_EQ(CollectivesOf(MakeProgram(options)->StepOf(0, 0)).size(), reductions);
  }
}

TEST(Programs, ModelScaleStretchesComputeKernelsOnly) {
  SimulatorOptions options = Complete({.tp = 2, .layers = 2});
  const auto usual = MakeProgram(options);
  options.model_scale = 3;
  const auto scaled = MakeProgram(options);
  const std::vector<Op>& a = usual->StepOf(0, 0).ops;
  const std::vector<Op>& b = scaled->StepOf(0, 0).ops;
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(b[i].device_ns, a[i].device_ns * (a[i].kind == OpKind::kKernel ? 3 : 1));
  }
}

TEST(Programs, AGraphIsOneLaunchOfEverythingBetweenTheCopies) {
  const SimulatorOptions options = Complete({.tp = 2, .layers = 3, .graphs = true});
  const auto program = MakeProgram(options);
  int launches = 0;
  for (const Op& op : program->StepOf(0, 0).ops) {
    launches += op.kind == OpKind::kGraphLaunch ? 1 : 0;
    const bool computes = op.kind == OpKind::kKernel || op.kind == OpKind::kCollective;
    EXPECT_EQ(op.in_graph, computes);
    if (!op.in_graph) continue;
    EXPECT_EQ(program->StepOf(0, 0).ops[op.first_of_call].kind, OpKind::kGraphLaunch);
    EXPECT_EQ(op.stream, Stream::kCompute);
  }
  EXPECT_EQ(launches, 1);
}

TEST(Programs, BatchingChangesItsOpsFromStepToStepAlikeOnAllRanks) {
  const SimulatorOptions options = Complete({.program = ProgramKind::kBatching, .tp = 4, .layers = 2});
  const auto program = MakeProgram(options);
  std::set<size_t> counts;
  std::set<int64_t> sizes;
  for (int32_t step = 0; step < 64; ++step) {
    const StepOps& ops = program->StepOf(step, 0);
    EXPECT_EQ(&ops, &program->StepOf(step, 3));
    counts.insert(CollectivesOf(ops).size());
    for (const Op* op : CollectivesOf(ops)) sizes.insert(op->bytes);
  }
  EXPECT_THAT(counts, ElementsAre(5U, 10U, 15U));
  EXPECT_GE(sizes.size(), 5U);
}

TEST(Programs, TrainingHasThreeSmallAllReducesOverAllRanksAStep) {
  const SimulatorOptions options =
      Complete({.program = ProgramKind::kTrain, .tp = 2, .pp = 2, .dp = 2, .hosts = 2, .layers = 4});
  const auto program = MakeProgram(options);
  for (int32_t rank = 0; rank < 8; ++rank) {
    int small = 0;
    for (const Op* op : CollectivesOf(program->StepOf(0, rank))) {
      small += op->group == GroupKind::kWorld && op->bytes == 4 ? 1 : 0;
    }
    EXPECT_EQ(small, 3);
  }
}

TEST(Programs, WithoutOverlapGradientsWaitForTheEndOfBackward) {
  SimulatorOptions options = Complete({.program = ProgramKind::kTrain, .tp = 1, .dp = 4, .layers = 12});
  const auto buckets_before_last_kernel_of_backward = [&] {
    const auto program = MakeProgram(options);
    const StepOps& step = program->StepOf(0, 0);
    const auto range = std::find_if(step.ranges.begin(), step.ranges.end(),
                                    [](const OpRange& r) { return r.name == "## backward ##"; });
    int count = 0;
    for (uint32_t i = range->first_op; i <= range->last_op; ++i) count += step.ops[i].kind == OpKind::kCollective;
    return count;
  };
  EXPECT_EQ(buckets_before_last_kernel_of_backward(), 3);
  options.overlap = false;
  EXPECT_EQ(buckets_before_last_kernel_of_backward(), 0);
}

// Both sides of every pair do the opposite of each other, in the same order.
TEST(Programs, StagesOfAPipelinePairOneToOne) {
  for (const int32_t micro_batches : {1, 2, 4, 9}) {
    const SimulatorOptions options =
        Complete({.program = ProgramKind::kPipeline, .tp = 1, .pp = 4, .layers = 5, .micro_batches = micro_batches});
    const auto program = MakeProgram(options);
    for (int32_t stage = 0; stage < 3; ++stage) {
      std::vector<std::pair<bool, bool>> upper;  // what goes up, what comes down
      std::vector<std::pair<bool, bool>> lower;
      for (const Op* op : CollectivesOf(program->StepOf(0, stage))) {
        if (op->send_to == stage + 1 || op->receive_from == stage + 1) {
          upper.emplace_back(op->send_to >= 0, op->receive_from >= 0);
        }
      }
      for (const Op* op : CollectivesOf(program->StepOf(0, stage + 1))) {
        if (op->send_to == stage || op->receive_from == stage) {
          lower.emplace_back(op->receive_from >= 0, op->send_to >= 0);
        }
      }
      EXPECT_EQ(upper, lower);
      int sent = 0;
      for (const auto& [up, down] : upper) sent += up ? 1 : 0;
      EXPECT_EQ(sent, micro_batches);
    }
  }
}

TEST(Programs, KernelNamesTellCommunicationFromCompute) {
  for (const ProgramKind kind : {ProgramKind::kDecode, ProgramKind::kPrefill, ProgramKind::kTrain,
                                 ProgramKind::kBatching, ProgramKind::kPipeline, ProgramKind::kMoe}) {
    for (const AllReduceKind who : {AllReduceKind::kNccl, AllReduceKind::kCustom, AllReduceKind::kSymmetric}) {
      const SimulatorOptions options = Complete({.program = kind,
                                                 .tp = 2,
                                                 .pp = 1 + (kind == ProgramKind::kPipeline),
                                                 .dp = 2,
                                                 .ep = 2,
                                                 .layers = 2,
                                                 .all_reduce = who});
      const auto program = MakeProgram(options);
      for (const Op& op : program->StepOf(0, 0).ops) {
        if (op.kind != OpKind::kKernel && op.kind != OpKind::kCollective) continue;
        const std::string& name = program->kernels()[op.kernel].name;
        const bool communicates = ClassifyKernel(name).category == Category::kCommunication;
        EXPECT_EQ(communicates, op.kind == OpKind::kCollective) << name;
      }
    }
  }
}

TEST(Programs, CustomAllReducesBearTheNamesThatAreKnown) {
  const SimulatorOptions options = Complete({.tp = 2, .layers = 1, .all_reduce = AllReduceKind::kCustom});
  const auto program = MakeProgram(options);
  const Op& op = *CollectivesOf(program->StepOf(0, 0)).front();
  const KernelClass known = ClassifyKernel(program->kernels()[op.kernel].name);
  EXPECT_EQ(known.library, CollectiveLibrary::kVllmCustom);
  EXPECT_EQ(known.op, CollectiveOp::kAllReduce);
  EXPECT_EQ(known.dtype, DataType::kBfloat16);
  EXPECT_FALSE(TellsGroup(op));
}

// Rank 0 sends, rank 1 comes to receive a millisecond later.
std::vector<RankTimeline> SendToALateReceiver(int64_t bytes) {
  const SimulatorOptions options = Complete({.tp = 1, .pp = 2, .hosts = 2, .steps = 1});
  const Cluster cluster = MakeCluster(options, CounterRng(1));
  Op send{.kind = OpKind::kCollective, .group = GroupKind::kPp, .collective = CollectiveOp::kSend, .bytes = bytes};
  Op receive = send;
  send.send_to = 1;
  receive.collective = CollectiveOp::kRecv;
  receive.receive_from = 0;
  receive.host_before_ns = 1'000'000;
  return Simulated(options, cluster, GivenProgram({{{send}, {}}, {{receive}, {}}}));
}

TEST(PointToPoint, ASmallMessageIsHandedOverBeforeTheReceiverStarts) {
  const auto ranks = SendToALateReceiver(64 * 1024);
  EXPECT_LT(ranks[0].activities[0].end_ns, ranks[1].activities[0].start_ns);
  EXPECT_GT(ranks[1].activities[0].end_ns, ranks[1].activities[0].start_ns);
}

TEST(PointToPoint, ALargeMessageWaitsForTheReceiver) {
  const auto ranks = SendToALateReceiver(64 << 20);
  EXPECT_GT(ranks[0].activities[0].end_ns, ranks[1].activities[0].start_ns);
  EXPECT_GE(ranks[1].activities[0].end_ns, ranks[1].activities[0].start_ns + 64'000'000 / 50);
}

TEST(PointToPoint, AReceiverWaitsForItsSenderHoweverSmallTheMessage) {
  const SimulatorOptions options = Complete({.tp = 1, .pp = 2, .steps = 1});
  const Cluster cluster = MakeCluster(options, CounterRng(1));
  Op send{.kind = OpKind::kCollective, .group = GroupKind::kPp, .collective = CollectiveOp::kSend, .bytes = 64};
  Op receive = send;
  send.send_to = 1;
  send.host_before_ns = 1'000'000;
  receive.collective = CollectiveOp::kRecv;
  receive.receive_from = 0;
  const auto ranks = Simulated(options, cluster, GivenProgram({{{send}, {}}, {{receive}, {}}}));
  EXPECT_GT(ranks[1].activities[0].end_ns, ranks[0].activities[0].start_ns);
}

TEST(Exchange, TokensGoBackTheWayTheyCame) {
  const Cluster cluster = MakeCluster(Complete({.tp = 1, .dp = 16, .ep = 8}), CounterRng(1));
  const RankGroup& group = cluster.communicators[static_cast<size_t>(cluster.CommunicatorOf(9, GroupKind::kEp))];
  Op op{.collective = CollectiveOp::kAllToAllV, .exchange = 4, .bytes = 8 << 20};
  const CounterRng rng(1);
  const Exchange there(group, op, 3, nullptr, rng);
  op.returns = true;
  const Exchange back(group, op, 3, nullptr, rng);
  int64_t nothing = 0;
  int64_t sum = 0;
  for (size_t from = 0; from < 8; ++from) {
    for (size_t to = 0; to < 8; ++to) {
      EXPECT_EQ(there.Pair(from, to), back.Pair(to, from));
      nothing += there.Pair(from, to) == 0 ? 1 : 0;
      sum += there.Pair(from, to);
    }
    EXPECT_GT(there.Pair(from, from), 0);
  }
  EXPECT_GT(nothing, 0);
  EXPECT_LT(nothing, 16);
  EXPECT_NEAR(static_cast<double>(sum), 8.0 * (8 << 20), 0.15 * 8 * (8 << 20));
}

TEST(Exchange, StepsAndLayersDiffer) {
  const Cluster cluster = MakeCluster(Complete({.tp = 1, .dp = 4, .ep = 4}), CounterRng(1));
  const RankGroup& group = cluster.communicators[static_cast<size_t>(cluster.CommunicatorOf(0, GroupKind::kEp))];
  Op op{.collective = CollectiveOp::kAllToAllV, .bytes = 8 << 20};
  const CounterRng rng(1);
  const int64_t first = Exchange(group, op, 0, nullptr, rng).Sent(0);
  EXPECT_NE(first, Exchange(group, op, 1, nullptr, rng).Sent(0));
  op.exchange = 1;
  EXPECT_NE(first, Exchange(group, op, 0, nullptr, rng).Sent(0));
}

TEST(Simulation, ADependentLaunchMayStartBeforeItsPredecessorEnds) {
  const SimulatorOptions options =
      Complete({.tp = 4, .steps = 6, .layers = 6, .all_reduce = AllReduceKind::kSymmetric});
  const Cluster cluster = MakeCluster(options, CounterRng(options.seed));
  const auto program = MakeProgram(options);
  int early = 0;
  for (const RankTimeline& timeline : Simulated(options, cluster, *program)) {
    for (size_t i = 1; i < timeline.activities.size(); ++i) {
      const Activity& activity = timeline.activities[i];
      if (!program->StepOf(activity.step, 0).ops[activity.op].early_start) continue;
      EXPECT_GT(activity.start_ns, timeline.activities[i - 1].start_ns);
      EXPECT_GT(activity.end_ns, timeline.activities[i - 1].end_ns);
      early += activity.start_ns < timeline.activities[i - 1].end_ns ? 1 : 0;
    }
  }
  EXPECT_GT(early, 100);
}

// Compute time of each step of rank 0, relative to its mean.
std::vector<double> StepSpeeds(const NoiseModel& noise) {
  const SimulatorOptions options =
      Complete({.program = ProgramKind::kTrain, .tp = 1, .dp = 2, .steps = 400, .layers = 2, .noise = noise});
  const Cluster cluster = MakeCluster(options, CounterRng(options.seed));
  const auto program = MakeProgram(options);
  const auto ranks = Simulated(options, cluster, *program);
  std::vector<double> sums(static_cast<size_t>(options.steps), 0);
  for (const Activity& activity : ranks[0].activities) {
    if (program->StepOf(activity.step, 0).ops[activity.op].kind != OpKind::kKernel) continue;
    sums[static_cast<size_t>(activity.step)] += static_cast<double>(activity.end_ns - activity.start_ns);
  }
  double mean = 0;
  for (const double sum : sums) mean += sum / static_cast<double>(sums.size());
  for (double& sum : sums) sum = sum / mean - 1;
  return sums;
}

double LagOne(const std::vector<double>& values) {
  double product = 0;
  double square = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    product += values[i] * values[i - 1];
    square += values[i] * values[i];
  }
  return product / square;
}

TEST(Noise, ARanksSpeedIsCorrelatedFromStepToStepAsAsked) {
  const NoiseModel still{.kernel_sigma_lo = 0, .kernel_sigma_hi = 0};
  NoiseModel slow = still;
  slow.rho = 0.8;
  slow.rho_sigma = 0.01;
  const std::vector<double> speeds = StepSpeeds(slow);
  EXPECT_NEAR(LagOne(speeds), 0.8, 0.1);
  double square = 0;
  for (const double x : speeds) square += x * x / static_cast<double>(speeds.size());
  EXPECT_NEAR(std::sqrt(square), 0.01, 0.002);
  for (const double x : StepSpeeds(still)) EXPECT_LT(std::abs(x), 1e-4);
}

TEST(Noise, EndsFollowTheRingAndTheJitter) {
  SimulatorOptions options = Complete({.program = ProgramKind::kPrefill, .tp = 8, .steps = 4, .layers = 4});
  options.noise.end_frac = 0.1;
  options.noise.end_jitter_us = 0;
  const Cluster cluster = MakeCluster(options, CounterRng(options.seed));
  const auto program = MakeProgram(options);
  const auto ranks = Simulated(options, cluster, *program);
  std::set<size_t> first_to_end;
  for (size_t i = 0; i < ranks[0].activities.size(); ++i) {
    const Activity& activity = ranks[0].activities[i];
    if (program->StepOf(activity.step, 0).ops[activity.op].kind != OpKind::kCollective) continue;
    int64_t last_start = 0;
    size_t first = 0;
    size_t last = 0;
    for (size_t rank = 0; rank < 8; ++rank) {
      const Activity& member = ranks[rank].activities[i];
      last_start = std::max(last_start, member.start_ns);
      if (member.end_ns < ranks[first].activities[i].end_ns) first = rank;
      if (member.end_ns > ranks[last].activities[i].end_ns) last = rank;
    }
    const auto spread = static_cast<double>(ranks[last].activities[i].end_ns - ranks[first].activities[i].end_ns);
    const auto transfer = static_cast<double>(ranks[last].activities[i].end_ns - last_start);
    EXPECT_NEAR(spread / transfer, 0.1, 0.005);
    first_to_end.insert(first);
  }
  EXPECT_EQ(first_to_end.size(), 1U);  // the place in the ring is the same every time
}

TEST(OpDraws, MinusLogIsTheLogarithm) {
  for (double u = 1; u > 1e-12; u *= 0.83) EXPECT_NEAR(MinusLog(u), -std::log(u), 1e-9 * (1 - std::log(u)));
}

TEST(OpDraws, DistributionsHaveTheirMoments) {
  const CounterRng rng(5);
  double exponential = 0;
  double normal = 0;
  double square = 0;
  constexpr int kDraws = 20'000;
  for (uint32_t op = 0; op < kDraws; ++op) {
    const OpDraws draws(rng, 1, 2, op);
    exponential += draws.Exponential(Purpose::kEndJitter) / kDraws;
    const double z = draws.Normal(Purpose::kKernelNoise);
    normal += z / kDraws;
    square += z * z / kDraws;
  }
  EXPECT_NEAR(exponential, 1, 0.03);
  EXPECT_NEAR(normal, 0, 0.03);
  EXPECT_NEAR(square, 1, 0.04);
}

TEST(OpDraws, IntegersReachBothEndsAndNoFurther) {
  const CounterRng rng(5);
  std::map<int64_t, int> seen;
  for (uint32_t op = 0; op < 3'000; ++op) ++seen[OpDraws(rng, 0, 0, op).Int(Purpose::kDispatch, 4, 9)];
  EXPECT_EQ(seen.begin()->first, 4);
  EXPECT_EQ(seen.rbegin()->first, 9);
  for (const auto& [value, count] : seen) EXPECT_NEAR(count, 500, 100);
}

}  // namespace
}  // namespace lockstep
