#include "bench/simulator/run/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/simulator/engine/simulation.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SimulatorOptions Decode() { return {.tp = 8, .steps = 8, .layers = 4, .seed = 11}; }
SimulatorOptions PlainTrain() {
  return {.program = ProgramKind::kTrain, .tp = 2, .dp = 4, .hosts = 2, .steps = 5, .layers = 4, .seed = 11};
}
SimulatorOptions PlainPipeline() {
  return {.program = ProgramKind::kPipeline, .tp = 2, .pp = 4, .hosts = 2, .steps = 3, .layers = 8, .seed = 11};
}

std::unique_ptr<Scenario> Made(SimulatorOptions options) {
  EXPECT_TRUE(CompleteLayout(options).ok());
  auto scenario = MakeScenario(options, {}, {});
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  return scenario.ok() ? *std::move(scenario) : nullptr;
}

SimulatorOptions With(SimulatorOptions options, std::vector<Spec> defects) {
  options.defects = std::move(defects);
  return options;
}

TEST(Scenario, SavingIsTheSameSeedWithoutTheCause) {
  SimulatorOptions options = Decode();
  options.causes = {{"slow_gpu", {{"rank", "3"}, {"factor", "1.2"}}}, {"late_host", {{"rank", "5"}}}};
  const auto with = Made(options);
  for (const size_t left : {0U, 1U}) {
    SimulatorOptions without = options;
    without.causes.erase(without.causes.begin() + static_cast<int64_t>(left));
    EXPECT_EQ(with->truth.causes[left].step_ns_without, Made(without)->truth.step_ns);
    EXPECT_EQ(with->truth.causes[left].step_ns_with, with->truth.step_ns);
  }
}

TEST(Scenario, StepTimesAreOfTheStepsThatAllTracesHold) {
  SimulatorOptions options = Decode();
  options.steps = 60;
  options.causes = {{"periodic_pause", {{"rank", "3"}, {"every", "7"}, {"ms", "20"}}}};
  int cut = 0;
  for (options.seed = 1; options.seed <= 8; ++options.seed) {
    const StepsOfRanks steps = StepsOf(Made(options)->recorded);
    const auto run = Made(With(options, {{"stagger", {{"s", "0.1"}}}}));
    StepRange held{0, steps.front().size() - 1};
    for (const RankTimeline& rank : run->recorded) {
      while (rank.steps[held.first].end_ns == 0) ++held.first;
      while (rank.steps[held.last].end_ns == 0) --held.last;
    }
    cut += held.last - held.first + 1 < steps.front().size() ? 1 : 0;
    EXPECT_EQ(run->truth.step_ns, MeanStepNs(steps, held)) << options.seed;
    EXPECT_EQ(run->truth.causes.front().step_ns_with, run->truth.step_ns);
  }
  EXPECT_GT(cut, 0);
}

TEST(MeanStepNs, OfTheStepsBeforeAndAfterAnyOneIsThatOfAll) {
  const auto run = Made(PlainTrain());
  const StepsOfRanks steps = StepsOf(run->recorded);
  const size_t last = steps.front().size() - 1;
  const auto length_of = [&](size_t from, size_t to) {
    return MeanStepNs(steps, {from, to}) * static_cast<int64_t>(to - from + 1);
  };
  for (size_t cut = 0; cut < last; ++cut) {
    EXPECT_NEAR(static_cast<double>(length_of(0, cut) + length_of(cut + 1, last)),
                static_cast<double>(length_of(0, last)), static_cast<double>(2 * steps.front().size()));
  }
}

TEST(Scenario, FindingsAreExpectedOfCausesThatCostSomething) {
  SimulatorOptions options = Decode();
  options.causes = {{"slow_gpu", {{"rank", "3"}, {"factor", "1.3"}}}};
  EXPECT_THAT(ExpectedFindings(Made(options)->truth), ::testing::ElementsAre("slow_device"));
  options.causes = {{"slow_gpu", {{"rank", "3"}, {"factor", "1"}}}};
  EXPECT_THAT(ExpectedFindings(Made(options)->truth), IsEmpty());
}

TEST(Scenario, AConditionOfAllRanksLeadsToItsOwnFindingWithItsWhatIfTruth) {
  SimulatorOptions options = Decode();
  const int64_t healthy = Made(options)->truth.step_ns;
  const std::map<std::string, std::string> findings = {{"host_bound", "gpu_idle_host_bound"},
                                                       {"slow_launch", "launch_bound"},
                                                       {"small_kernels", "small_kernels"},
                                                       {"sync", "sync_in_step"},
                                                       {"alloc", "alloc_hot_path"},
                                                       {"host_copies", "host_copies_in_loop"},
                                                       {"big_copies", "copies_dominate"},
                                                       {"long_attention", "attention_dominates"},
                                                       {"outlier", "outliers"},
                                                       {"slow_transfer", "exposed_transfer"},
                                                       {"jitter", "exposed_wait"},
                                                       {"memory_bound", "workload_class"},
                                                       {"prefill_mix", "prefill_blocks_decode"}};
  for (const auto& [kind, finding] : findings) {
    options.causes = {{kind, {}}};
    if (kind == "prefill_mix") options.causes.front().values["every"] = "2";
    const auto run = Made(options);
    EXPECT_THAT(ExpectedFindings(run->truth), ::testing::ElementsAre(finding)) << kind;
    EXPECT_EQ(run->truth.causes.front().step_ns_without, healthy) << kind;
  }
}

TEST(Scenario, UnevenMessagesAreAFindingEvenWhereTheyCostNothing) {
  SimulatorOptions options = PlainTrain();
  options.causes = {{"uneven_traffic", {}}};
  EXPECT_THAT(ExpectedFindings(Made(options)->truth), ::testing::ElementsAre("nccl_imbalance"));
}

TEST(Scenario, BatchingTakesInPromptsAmongDecodeSteps) {
  SimulatorOptions options = Decode();
  options.program = ProgramKind::kBatching;
  EXPECT_THAT(ExpectedFindings(Made(options)->truth), ::testing::ElementsAre("prefill_blocks_decode"));
}

TEST(Scenario, OpaqueGraphsAreAFinding) {
  SimulatorOptions options = Decode();
  options.graphs = true;
  options.defects = {{"opaque_graphs", {}}};
  EXPECT_THAT(ExpectedFindings(Made(options)->truth), IsEmpty());  // Kineto shows what a graph runs
  options.form = TraceForm::kNsys;
  EXPECT_THAT(ExpectedFindings(Made(options)->truth), ::testing::ElementsAre("opaque_graphs"));
}

TEST(Scenario, PromptsBetweenTrainingStepsAreRefused) {
  SimulatorOptions options = PlainTrain();
  ASSERT_TRUE(CompleteLayout(options).ok());
  options.causes = {{"prefill_mix", {}}};
  EXPECT_THAT(std::string(CheckPlaces(options).message()), ::testing::HasSubstr("needs --program decode"));
}

TEST(Scenario, EveryInstanceHasItsMembersOnceByRank) {
  for (const SimulatorOptions& options : {Decode(), PlainTrain(), PlainPipeline()}) {
    const auto run = Made(options);
    ASSERT_GT(run->instances.size(), 40U);
    for (const TrueInstance& instance : run->instances) {
      const RankGroup& group = run->cluster.communicators[instance.communicator];
      const bool pair = instance.op == CollectiveOp::kSendRecv;
      ASSERT_EQ(instance.members.size(), pair ? 2 : group.members.size());
      int64_t last_start = INT64_MIN;
      int64_t last_end = INT64_MIN;
      for (size_t i = 0; i < instance.members.size(); ++i) {
        const TrueMember& member = instance.members[i];
        EXPECT_TRUE(member.recorded);
        if (!pair) {
          EXPECT_EQ(member.rank, group.members[i]);
        }
        last_start = std::max(last_start, member.start_ns);
        last_end = std::max(last_end, member.end_ns);
      }
      EXPECT_LT(last_start, last_end);
    }
  }
}

TEST(Scenario, InstancesOfACommunicatorAreNumberedInOrderOfTime) {
  const auto run = Made(PlainPipeline());
  std::map<uint32_t, std::pair<int64_t, int64_t>> last;  // index and last arrival
  for (const TrueInstance& instance : run->instances) {
    int64_t arrival = INT64_MIN;
    for (const TrueMember& member : instance.members) arrival = std::max(arrival, member.start_ns);
    const auto [at, is_new] = last.emplace(instance.communicator, std::pair{instance.index, arrival});
    if (is_new) {
      EXPECT_EQ(instance.index, 0);
      continue;
    }
    EXPECT_EQ(instance.index, at->second.first + 1);
    EXPECT_GE(arrival, at->second.second);
    at->second = {instance.index, arrival};
  }
}

TEST(Scenario, ActivitiesPointToTheInstanceThatHoldsThem) {
  const auto run = Made(PlainPipeline());
  size_t found = 0;
  for (size_t rank = 0; rank < run->recorded.size(); ++rank) {
    for (size_t i = 0; i < run->recorded[rank].activities.size(); ++i) {
      const int32_t at = run->instance_of[rank][i];
      if (at < 0) continue;
      const auto& members = run->instances[static_cast<size_t>(at)].members;
      const Activity& activity = run->recorded[rank].activities[i];  // without --clock the record is the truth
      found += static_cast<size_t>(std::count_if(members.begin(), members.end(), [&](const TrueMember& m) {
        return m.rank == static_cast<int32_t>(rank) && m.start_ns == activity.start_ns && m.end_ns == activity.end_ns;
      }));
    }
  }
  size_t members = 0;
  for (const TrueInstance& instance : run->instances) members += instance.members.size();
  EXPECT_EQ(found, members);
}

TEST(Defects, LossTakesItsShareAndTheTruthCountsIt) {
  const auto run = Made(With(Decode(), {{"loss", {{"p", "0.05"}}}}));
  int64_t records = 0;
  int64_t lost = 0;
  int64_t unrecorded = 0;
  for (size_t rank = 0; rank < run->recorded.size(); ++rank) {
    int64_t gone = 0;
    for (size_t i = 0; i < run->recorded[rank].activities.size(); ++i) {
      const Activity& activity = run->recorded[rank].activities[i];
      if (!StartsDeviceWork(run->program->StepOf(activity.step, static_cast<int32_t>(rank)).ops[activity.op].kind)) {
        continue;
      }
      ++records;
      gone += activity.end_ns == 0 ? 1 : 0;
      EXPECT_NE(activity.call_end_ns, 0);  // the host's rows stay
    }
    EXPECT_EQ(gone, run->truth.ranks[rank].lost);
    lost += gone;
  }
  EXPECT_NEAR(static_cast<double>(lost) / static_cast<double>(records), 0.05, 0.012);
  for (const TrueInstance& instance : run->instances) {
    for (const TrueMember& member : instance.members) unrecorded += member.recorded ? 0 : 1;
  }
  EXPECT_GT(unrecorded, 0);
  EXPECT_LT(unrecorded, lost);
}

TEST(Defects, DamageMovesNoOtherTime) {
  const auto whole = Made(Decode());
  const auto damaged = Made(With(Decode(), {{"loss", {{"p", "0.1"}}}, {"absurd", {{"p", "0.1"}}}}));
  int kept = 0;
  for (size_t rank = 0; rank < whole->recorded.size(); ++rank) {
    for (size_t i = 0; i < whole->recorded[rank].activities.size(); ++i) {
      if (damaged->fates[rank][i] != RecordFate::kKept) continue;
      ++kept;
      EXPECT_EQ(damaged->recorded[rank].activities[i].start_ns, whole->recorded[rank].activities[i].start_ns);
      EXPECT_EQ(damaged->recorded[rank].activities[i].end_ns, whole->recorded[rank].activities[i].end_ns);
    }
  }
  EXPECT_GT(kept, 1000);
}

TEST(Defects, ABurstTakesRecordsInARowOfOneRank) {
  const auto run = Made(With(Decode(), {{"burst", {{"n", "40"}}}}));
  std::multiset<int64_t> lost;
  for (const TruthOfRank& rank : run->truth.ranks) lost.insert(rank.lost);
  EXPECT_EQ(lost.count(0), 7U);
  EXPECT_EQ(*lost.rbegin(), 40);
}

TEST(Defects, HeadTakesTheFirstRecordsOnly) {
  const auto run = Made(With(Decode(), {{"head", {{"n", "60"}}}}));
  int64_t most = 0;
  for (size_t rank = 0; rank < run->recorded.size(); ++rank) {
    most = std::max(most, run->truth.ranks[rank].lost);
    int64_t last_lost = INT64_MIN;
    for (size_t i = 0; i < run->recorded[rank].activities.size(); ++i) {
      if (run->fates[rank][i] == RecordFate::kLost) last_lost = static_cast<int64_t>(i);
    }
    int64_t kept_before = 0;
    for (int64_t i = 0; i < last_lost; ++i) {
      kept_before += run->recorded[rank].activities[static_cast<size_t>(i)].end_ns != 0 ? 1 : 0;
    }
    EXPECT_LE(kept_before, 2);  // streams interleave: order of start is nearly that of the calls
  }
  EXPECT_GT(most, 0);
  EXPECT_LE(most, 60);
}

TEST(Defects, AbsurdTimesAreOfEveryKind) {
  const auto run = Made(With(Decode(), {{"absurd", {{"p", "0.1"}}}}));
  std::map<RecordFate, int> count;
  for (size_t rank = 0; rank < run->recorded.size(); ++rank) {
    for (size_t i = 0; i < run->fates[rank].size(); ++i) {
      const RecordFate fate = run->fates[rank][i];
      const Activity& activity = run->recorded[rank].activities[i];
      ++count[fate];
      if (fate == RecordFate::kNegative) {
        EXPECT_LT(activity.end_ns, activity.start_ns);
      }
      if (fate == RecordFate::kAbsurd) {
        EXPECT_GT(activity.start_ns, run->truth.end_ns + 3'600'000'000'000);
      }
      if (fate == RecordFate::kZeroTime) {
        EXPECT_EQ(activity.start_ns, ZeroOfFile(run->run, static_cast<int32_t>(rank)));
      }
    }
  }
  EXPECT_EQ(count.size(), 4U);
  EXPECT_EQ(count.count(RecordFate::kLost), 0U);
}

TEST(Defects, StaggeredWindowsBeginAndEndApart) {
  const auto run = Made(With(PlainTrain(), {{"stagger", {{"s", "2"}}}}));
  std::set<int64_t> begins;
  for (const TruthOfRank& rank : run->truth.ranks) begins.insert(rank.first_ns);
  EXPECT_GT(begins.size(), 4U);
  const int64_t length = run->truth.end_ns - run->truth.start_ns;
  for (const TruthOfRank& rank : run->truth.ranks) {
    EXPECT_GE(rank.last_ns - rank.first_ns, length / 2);
    EXPECT_GT(rank.lost, 0);
  }
}

TEST(Defects, RanksOfAnNsysHostShareTheirWindow) {
  SimulatorOptions options = With(PlainTrain(), {{"stagger", {{"s", "2"}}}});
  options.form = TraceForm::kNsys;
  const auto run = Made(options);
  const auto shift = [&](size_t rank) { return run->truth.ranks[rank].first_ns - run->truth.start_ns > 1'000'000; };
  for (const size_t host : {0U, 4U}) {
    for (size_t rank = host; rank < host + 4; ++rank) EXPECT_EQ(shift(rank), shift(host));
  }
}

TEST(Defects, ADecoyIsASecondJobThatSharesNothing) {
  const auto run = Made(With(PlainTrain(), {{"decoy", {}}}));
  ASSERT_EQ(run->cluster.world(), 16);
  EXPECT_EQ(run->cluster.hosts, 4);
  std::map<std::string, int> names;
  for (const RankGroup& group : run->cluster.communicators) {
    EXPECT_EQ(group.members.front() < 8, group.members.back() < 8);
    ++names[group.id];
  }
  for (const TrueInstance& instance : run->instances) {
    EXPECT_EQ(instance.members.front().rank < 8, instance.members.back().rank < 8);
  }
  EXPECT_THAT(names, SizeIs(run->cluster.communicators.size()));
  ASSERT_THAT(run->truth.undecidable, Not(IsEmpty()));
  EXPECT_THAT(run->truth.undecidable.front().what, HasSubstr("ranks 0 to 7 against ranks 8 to 15"));
}

TEST(Defects, ADecoyLeavesTheFirstJobAsItWas) {
  const auto alone = Made(PlainTrain());
  const auto both = Made(With(PlainTrain(), {{"decoy", {}}}));
  for (size_t rank = 0; rank < 8; ++rank) {
    const auto& a = alone->recorded[rank].activities;
    const auto& b = both->recorded[rank].activities;
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i].end_ns, b[i].end_ns);
  }
}

TEST(Defects, AHostThatIsAlwaysLastIs) {
  const auto run = Made(With(PlainTrain(), {{"always_last", {{"host", "1"}, {"us", "150"}}}}));
  int last = 0;
  int of = 0;
  for (const TrueInstance& instance : run->instances) {
    if (run->cluster.communicators[instance.communicator].kind != GroupKind::kDp) continue;
    const auto latest = std::max_element(instance.members.begin(), instance.members.end(),
                                         [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
    last += latest->rank >= 4 ? 1 : 0;
    ++of;
  }
  EXPECT_GT(last, of * 9 / 10);
  ASSERT_THAT(run->truth.causes, SizeIs(1));
  EXPECT_EQ(run->truth.causes.front().category, "dependency");
}

TEST(Defects, ARankIsMissingOrDoubled) {
  const auto run = Made(With(Decode(), {{"missing_rank", {{"rank", "2"}}}, {"duplicate_rank", {{"rank", "5"}}}}));
  EXPECT_TRUE(run->truth.ranks[2].missing);
  for (const TrueInstance& instance : run->instances) EXPECT_FALSE(instance.members[2].recorded);
  ASSERT_TRUE(run->duplicate.has_value());
  EXPECT_EQ(run->duplicate->activities.size(), run->recorded[5].activities.size());
}

TEST(Defects, WithoutMetadataNamesAreAllThereIs) {
  EXPECT_EQ(Made(With(Decode(), {{"no_metadata", {}}}))->options.ids, IdLevel::kNames);
}

TEST(Defects, WrongValuesAreNamed) {
  SimulatorOptions options = With(Decode(), {{"loss", {{"p", "2"}}}});
  ASSERT_TRUE(CompleteLayout(options).ok());
  EXPECT_THAT(std::string(CheckPlaces(options).message()),
              HasSubstr("--defect loss: p=2 must be a number from 0 to 1"));
  options.defects = {{"missing_rank", {{"rank", "8"}}}};
  EXPECT_THAT(std::string(CheckPlaces(options).message()), HasSubstr("rank=8 must be an integer from 0 to 7"));
}

}  // namespace
}  // namespace lockstep
