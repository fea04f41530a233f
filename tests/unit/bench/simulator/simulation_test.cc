#include "bench/simulator/engine/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "bench/simulator/cluster/clock_field.h"
#include "bench/simulator/engine/device_model.h"
#include "bench/simulator/engine/exchange.h"
#include "tests/unit/bench/simulator/simulator_fixture.h"

namespace lockstep {
namespace {

SimulatorOptions EightRankTrain(std::vector<Spec> causes = {}) {
  return {.program = ProgramKind::kTrain,
          .tp = 4,
          .dp = 2,
          .hosts = 2,
          .steps = 6,
          .layers = 6,
          .seed = 3,
          .causes = std::move(causes)};
}
Spec LateHost(const char* rank, const char* us = "300", const char* p = "0.03") {
  return {"late_host", {{"rank", rank}, {"us", us}, {"p", p}}};
}
Spec SlowGpu(const char* rank, const char* factor) { return {"slow_gpu", {{"rank", rank}, {"factor", factor}}}; }

struct Member {
  int32_t rank;
  Activity activity;
};
// Members by (meeting, ordinal).
using InstanceMap = std::map<std::pair<uint32_t, size_t>, std::vector<Member>>;
InstanceMap InstancesOf(const CausedRun& run, const std::vector<RankTimeline>& ranks) {
  InstanceMap instances;
  for (int32_t rank = 0; rank < run.cluster.world(); ++rank) {
    std::map<uint32_t, size_t> count;
    for (const Activity& activity : ranks[static_cast<size_t>(rank)].activities) {
      const Op& op = run.OpOf(rank, activity);
      if (op.kind != OpKind::kCollective) continue;
      const uint32_t meeting = MeetingOf(run.cluster, op, rank);
      instances[{meeting, count[meeting]++}].push_back({rank, activity});
    }
  }
  return instances;
}
const RankGroup& GroupOf(const CausedRun& run, const Member& member) {
  const int32_t index = run.cluster.CommunicatorOf(member.rank, run.OpOf(member.rank, member.activity).group);
  return run.cluster.communicators[static_cast<size_t>(index)];
}

bool Same(const Activity& a, const Activity& b) {
  return a.call_start_ns == b.call_start_ns && a.call_end_ns == b.call_end_ns && a.start_ns == b.start_ns &&
         a.end_ns == b.end_ns && a.step == b.step && a.op == b.op;
}
bool Same(const std::vector<RankTimeline>& a, const std::vector<RankTimeline>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const RankTimeline& x, const RankTimeline& y) {
    return std::equal(x.activities.begin(), x.activities.end(), y.activities.begin(), y.activities.end(),
                      [](const Activity& p, const Activity& q) { return Same(p, q); });
  });
}

struct Workload {
  const char* name;
  SimulatorOptions options;
};
const Workload kWorkloads[] = {
    {"decode", SmallDecode()},
    {"train", EightRankTrain()},
    {"graphs", {.program = ProgramKind::kDecode, .tp = 4, .steps = 8, .layers = 4, .graphs = true}},
    {"symmetric",
     {.program = ProgramKind::kDecode, .tp = 4, .steps = 8, .layers = 4, .all_reduce = AllReduceKind::kSymmetric}},
    {"custom",
     {.program = ProgramKind::kDecode, .tp = 4, .steps = 8, .layers = 4, .all_reduce = AllReduceKind::kCustom}},
    {"prefill", {.program = ProgramKind::kPrefill, .tp = 4, .steps = 4, .layers = 4}},
    {"batching", {.program = ProgramKind::kBatching, .tp = 4, .steps = 12, .layers = 3}},
    {"pipeline", {.program = ProgramKind::kPipeline, .tp = 1, .pp = 4, .hosts = 4, .steps = 4, .layers = 6}},
    {"moe", {.program = ProgramKind::kMoe, .tp = 2, .dp = 4, .ep = 4, .steps = 4, .layers = 3}},
    {"everything",
     {.program = ProgramKind::kTrain, .tp = 2, .pp = 2, .dp = 4, .ep = 2, .hosts = 4, .steps = 4, .layers = 4}},
};

class Programs : public ::testing::TestWithParam<Workload> {
 protected:
  static CausedRun MakeRun(std::vector<Spec> causes = {}) {
    SimulatorOptions options = GetParam().options;
    options.causes = std::move(causes);
    return CausedRun(options);
  }
};
INSTANTIATE_TEST_SUITE_P(All, Programs, ::testing::ValuesIn(kWorkloads),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST_P(Programs, SameSeedGivesTheSameTimelines) {
  EXPECT_TRUE(Same(MakeRun({LateHost("1")}).Simulated(), MakeRun({LateHost("1")}).Simulated()));
}

TEST_P(Programs, EveryInstanceHasAllItsMembers) {
  const CausedRun run = MakeRun();
  const InstanceMap instances = InstancesOf(run, run.Simulated());
  ASSERT_GT(instances.size(), 12U);
  for (const auto& [key, members] : instances) {
    const Op& op = run.OpOf(members[0].rank, members[0].activity);
    ASSERT_EQ(members.size(), IsPairwise(op) ? 2 : GroupOf(run, members[0]).members.size());
    for (const Member& member : members) EXPECT_EQ(member.activity.step, members[0].activity.step);
  }
}

// The relation that holds for an operation: who cannot end before whom has started.
TEST_P(Programs, NobodyEndsBeforeThoseItWaitsForHaveStarted) {
  const CausedRun run = MakeRun({LateHost("2")});
  int64_t checked = 0;
  for (const auto& [key, members] : InstancesOf(run, run.Simulated())) {
    const RankGroup& group = GroupOf(run, members[0]);
    for (const Member& own : members) {
      const Op& op = run.OpOf(own.rank, own.activity);
      const Exchange exchange(group, op, own.activity.step, nullptr, run.rng);
      for (const Member& other : members) {
        const auto from = static_cast<size_t>(run.cluster.PositionIn(group, other.rank));
        const auto to = static_cast<size_t>(run.cluster.PositionIn(group, own.rank));
        if (IsPairwise(op) && op.receive_from < 0) continue;
        if (op.collective == CollectiveOp::kAllToAllV && exchange.Pair(from, to) == 0) continue;
        EXPECT_GT(own.activity.end_ns, other.activity.start_ns);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 20);
}

TEST_P(Programs, AnInstanceEndsForAllTogetherExceptForTheNoise) {
  SimulatorOptions options = GetParam().options;
  options.noise.end_frac = 0;
  options.noise.end_jitter_us = 0;
  const CausedRun run(options);
  for (const auto& [key, members] : InstancesOf(run, run.Simulated())) {
    if (!IsAllPairs(run.OpOf(members[0].rank, members[0].activity).collective)) continue;
    for (const Member& member : members) EXPECT_EQ(member.activity.end_ns, members[0].activity.end_ns);
  }
}

TEST_P(Programs, StreamsRunOneThingAtATimeAndNothingBeforeItsLaunch) {
  const CausedRun run = MakeRun();
  const auto ranks = run.Simulated();
  for (int32_t rank = 0; rank < run.cluster.world(); ++rank) {
    std::array<int64_t, kStreams> free{};
    for (const Activity& activity : ranks[static_cast<size_t>(rank)].activities) {
      const Op& op = run.OpOf(rank, activity);
      if (!StartsDeviceWork(op.kind)) continue;
      EXPECT_TRUE(op.early_start || activity.start_ns >= free[static_cast<size_t>(op.stream)]);
      EXPECT_GE(activity.start_ns, activity.call_start_ns + 3'000);
      EXPECT_GE(activity.end_ns, activity.start_ns);
      EXPECT_EQ(activity.start_ns % kDeviceTickNs, 0);
      free[static_cast<size_t>(op.stream)] = activity.end_ns;
    }
  }
}

TEST_P(Programs, HostCallsLeaveRoomForTheRangesAroundThem) {
  const CausedRun run = MakeRun();
  const auto ranks = run.Simulated();
  for (int32_t rank = 0; rank < run.cluster.world(); ++rank) {
    int64_t free = 0;
    for (const Activity& activity : ranks[static_cast<size_t>(rank)].activities) {
      if (!HasCall(run.OpOf(rank, activity))) continue;
      ASSERT_GE(activity.call_start_ns - free, 1'300);
      free = activity.call_end_ns;
    }
  }
}

TEST_P(Programs, StepsTileTheHostsTime) {
  const CausedRun run = MakeRun();
  for (const RankTimeline& timeline : run.Simulated()) {
    ASSERT_EQ(timeline.steps.size(), static_cast<size_t>(run.options.steps));
    for (size_t i = 0; i < timeline.steps.size(); ++i) {
      const StepSpan& span = timeline.steps[i];
      EXPECT_GT(span.start_ns, i > 0 ? timeline.steps[i - 1].end_ns : 0);
      EXPECT_LT(span.start_ns, timeline.activities[span.first_activity].call_start_ns);
      EXPECT_EQ(timeline.activities[span.first_activity].op, 0U);
    }
  }
}

TEST_P(Programs, RemovingACauseGivesTheRunThatNeverHadIt) {
  const CausedRun with = MakeRun({LateHost("1"), SlowGpu("2", "1.3")});
  EXPECT_TRUE(Same(with.Simulated(0), MakeRun({SlowGpu("2", "1.3")}).Simulated()));
  EXPECT_TRUE(Same(with.Simulated(1), MakeRun({LateHost("1")}).Simulated()));
}

TEST_P(Programs, ACauseOfNoStrengthChangesNothing) {
  EXPECT_TRUE(Same(MakeRun({LateHost("1", "500", "0"), SlowGpu("2", "1")}).Simulated(), MakeRun().Simulated()));
}

TEST_P(Programs, RunTimesDoNotDependOnKeepingRecords) {
  const CausedRun run = MakeRun({LateHost("1")});
  const CauseEffects effects(run.causes, std::nullopt, run.cluster.world(), run.rng);
  const auto lean = Simulate({.cluster = &run.cluster,
                              .program = run.program.get(),
                              .effects = &effects,
                              .rng = run.rng,
                              .noise = run.options.noise,
                              .steps = run.options.steps,
                              .start_ns = CausedRun::kStartNs,
                              .keep_records = false});
  EXPECT_EQ(MeanStepNs(lean), MeanStepNs(run.Simulated()));
}

// Mean of (own start - mean start) over the instances of a rank's tensor-parallel group.
double MeanLateness(const CausedRun& run, const std::vector<RankTimeline>& ranks, int32_t rank) {
  double sum = 0;
  int count = 0;
  for (const auto& [key, members] : InstancesOf(run, ranks)) {
    if (GroupOf(run, members[0]).kind != GroupKind::kTp) continue;
    double mean = 0;
    std::optional<int64_t> own;
    for (const Member& member : members) {
      mean += static_cast<double>(member.activity.start_ns - CausedRun::kStartNs) / static_cast<double>(members.size());
      if (member.rank == rank) own = member.activity.start_ns - CausedRun::kStartNs;
    }
    if (!own) continue;
    sum += static_cast<double>(*own) - mean;
    ++count;
  }
  return sum / count;
}

TEST(Simulation, ALateHostArrivesLateAndCostsTime) {
  const CausedRun run(SmallDecode({LateHost("5")}));
  const auto with = run.Simulated();
  const auto without = run.Simulated(0);
  EXPECT_GT(MeanLateness(run, with, 5), 5'000);
  EXPECT_LT(std::abs(MeanLateness(run, without, 5)), 2'000);
  for (const int32_t other : {0, 3, 7}) EXPECT_LT(MeanLateness(run, with, other), 0);
  EXPECT_GT(MeanStepNs(with), MeanStepNs(without) * 105 / 100);
}

TEST(Simulation, ASlowGpuStretchesItsComputeKernelsAndNothingElse) {
  const CausedRun run(EightRankTrain({SlowGpu("3", "1.25")}));
  const auto with = run.Simulated();
  const auto without = run.Simulated(0);
  for (size_t rank = 0; rank < with.size(); ++rank) {
    for (size_t i = 0; i < with[rank].activities.size(); ++i) {
      const Activity& slow = with[rank].activities[i];
      const Activity& usual = without[rank].activities[i];
      const OpKind kind = run.OpOf(static_cast<int32_t>(rank), slow).kind;
      if (kind == OpKind::kCollective) continue;
      const double factor = rank == 3 && kind == OpKind::kKernel ? 1.25 : 1.0;
      EXPECT_NEAR(static_cast<double>(slow.end_ns - slow.start_ns),
                  factor * static_cast<double>(usual.end_ns - usual.start_ns), 2.5 * kDeviceTickNs);
    }
  }
}

TEST(Simulation, GradientsAreReducedWhileBackwardGoesOn) {
  const CausedRun run(EightRankTrain());
  const auto ranks = run.Simulated();
  int overlapped = 0;
  const std::vector<Activity>& activities = ranks[0].activities;
  for (const Activity& reduce : activities) {
    const Op& gradients = run.OpOf(0, reduce);
    if (gradients.kind != OpKind::kCollective || gradients.group != GroupKind::kDp) continue;
    overlapped += std::any_of(activities.begin(), activities.end(), [&](const Activity& other) {
      const Op& op = run.OpOf(0, other);
      return op.kind == OpKind::kKernel && other.start_ns < reduce.end_ns && other.end_ns > reduce.start_ns;
    });
  }
  EXPECT_GE(overlapped, run.options.steps);
}

TEST(Simulation, CommunicatorsWithCollectivesHaveDifferentMembers) {
  for (const auto& [tp, dp] : {std::pair{8, 1}, {1, 8}, {4, 2}}) {
    const CausedRun run({.program = ProgramKind::kTrain, .tp = tp, .dp = dp, .steps = 1, .layers = 2});
    std::map<std::vector<int32_t>, uint64_t> seen;
    for (const auto& [key, members] : InstancesOf(run, run.Simulated())) {
      const RankGroup& group = GroupOf(run, members[0]);
      EXPECT_EQ(seen.emplace(group.members, group.hash).first->second, group.hash);
    }
  }
}

TEST(Simulation, OneRankRunsAlone) {
  for (const ProgramKind program : {ProgramKind::kDecode, ProgramKind::kTrain}) {
    const CausedRun run({.program = program, .tp = 1, .steps = 3, .layers = 2});
    const auto ranks = run.Simulated();
    EXPECT_TRUE(InstancesOf(run, ranks).empty());
    EXPECT_GT(MeanStepNs(ranks), 100'000);
  }
}

TEST(Causes, TheSeedPlacesACauseWithoutARank) {
  std::map<int32_t, int> places;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    SimulatorOptions options = SmallDecode({{"slow_gpu", {}}});
    options.seed = seed;
    const CausedRun run(options);
    ASSERT_EQ(run.causes.front().ranks.size(), 1U);
    ++places[run.causes.front().ranks.front()];
  }
  EXPECT_EQ(places.size(), 8U);
}

TEST(Causes, AHostStandsForAllItsRanks) {
  SimulatorOptions options = EightRankTrain({{"late_host", {{"host", "1"}}}});
  EXPECT_EQ(CausedRun(options).causes.front().ranks, (std::vector<int32_t>{4, 5, 6, 7}));
}

TEST(Causes, AnUnknownRankIsRefusedWithTheRange) {
  SimulatorOptions options = SmallDecode();
  ASSERT_TRUE(CompleteLayout(options).ok());
  const CounterRng rng(1);
  const auto causes = PlaceCauses({SlowGpu("8", "2")}, MakeCluster(options, rng), rng);
  ASSERT_FALSE(causes.ok());
  EXPECT_THAT(std::string(causes.status().message()), ::testing::HasSubstr("rank=8 must be an integer from 0 to 7"));
}

TEST(ClockField, WithoutMagnitudesTheRecordIsTheTruth) {
  const CausedRun run(SmallDecode());
  const ClockField clocks(run.options, run.cluster, run.rng, CausedRun::kStartNs, 2 * CausedRun::kStartNs);
  const auto truth = run.Simulated();
  auto recorded = truth;
  for (size_t rank = 0; rank < recorded.size(); ++rank) {
    clocks.Record(static_cast<int32_t>(rank), *run.program, recorded[rank]);
  }
  EXPECT_TRUE(Same(truth, recorded));
}

TEST(ClockField, RecordsAreShiftedByTheHostAndTheDevice) {
  CausedRun run(EightRankTrain());
  run.options.clock = {.offset_ms = 5, .drift_ppm = 10, .bias_us = 2};
  const ClockField clocks(run.options, run.cluster, run.rng, CausedRun::kStartNs, 2 * CausedRun::kStartNs);
  EXPECT_NE(clocks.Theta(0, CausedRun::kStartNs), clocks.Theta(1, CausedRun::kStartNs));
  EXPECT_LE(std::abs(clocks.Theta(1, CausedRun::kStartNs)), 5'000'000);
  const auto truth = run.Simulated();
  for (int32_t rank = 0; rank < run.cluster.world(); ++rank) {
    RankTimeline recorded = truth[static_cast<size_t>(rank)];
    clocks.Record(rank, *run.program, recorded);
    const int32_t host = run.cluster.ranks[static_cast<size_t>(rank)].host;
    double shift = 0;
    int count = 0;
    for (size_t i = 0; i < recorded.activities.size(); ++i) {
      const Activity& is = truth[static_cast<size_t>(rank)].activities[i];
      const Activity& shown = recorded.activities[i];
      EXPECT_EQ(shown.call_start_ns - is.call_start_ns, clocks.Theta(host, is.call_start_ns));
      if (is.end_ns == 0) continue;
      shift += static_cast<double>(shown.start_ns - is.start_ns - clocks.Theta(host, is.start_ns));
      ++count;
    }
    EXPECT_NEAR(shift / count, static_cast<double>(clocks.DeviceBias(rank)), 300);
  }
}

TEST(ClockField, AStepHappensOnceOnOneHost) {
  CausedRun run(EightRankTrain());
  run.options.clock = {.step_us = 400};
  const ClockField clocks(run.options, run.cluster, run.rng, CausedRun::kStartNs, 2 * CausedRun::kStartNs);
  const int64_t change = clocks.Theta(0, 2 * CausedRun::kStartNs) + clocks.Theta(1, 2 * CausedRun::kStartNs) -
                         clocks.Theta(0, CausedRun::kStartNs) - clocks.Theta(1, CausedRun::kStartNs);
  EXPECT_EQ(change, 400'000);
  EXPECT_EQ(clocks.StepsOf(0).size() + clocks.StepsOf(1).size(), 1U);
}

}  // namespace
}  // namespace lockstep
