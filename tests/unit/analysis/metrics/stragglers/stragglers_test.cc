#include "analysis/metrics/stragglers/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "analysis/metrics/stragglers/saving_limits.h"
#include "tests/unit/analysis/metrics/stragglers/paced_run.h"

namespace lockstep {
namespace {

constexpr double kOwnNs = 1'000'000;

// These ranks take `ratio` of a usual stretch longer in every step.
ExtraOwn Slow(std::vector<int32_t> ranks, double ratio) {
  return [=](int32_t rank, int, int) {
    return std::find(ranks.begin(), ranks.end(), rank) == ranks.end() ? 0 : std::llround(kOwnNs * ratio);
  };
}

std::vector<std::string> Names(const StragglerResult& result) {
  std::vector<std::string> names;
  for (const Straggler& it : result.stragglers) names.push_back(ScopedName(it.scope, it.id));
  return names;
}

using NameList = std::vector<std::string>;

TEST(FindStragglers, NamesARankThatIsSlowInEveryStep) {
  const StragglerResult result = FindIn(MakePacedRun(Cluster(1, 8), 1, Slow({5}, 0.02)));
  ASSERT_EQ(Names(result), NameList{"rank 5"}) << result.reason;
  EXPECT_EQ(result.stragglers[0].kind, Recurrence::kPersistent);
  EXPECT_EQ(result.stragglers[0].persistence, 1);
  EXPECT_LT(result.stragglers[0].p_adjusted, kStragglerAlpha);
}

TEST(FindStragglers, SavingIsThatOfTheSameRunWithoutTheCause) {
  const PacedRun with = MakePacedRun(Cluster(2, 4), 2, Slow({5}, 0.03));
  const PacedRun without = MakePacedRun(Cluster(2, 4), 2);
  const StragglerResult result = FindIn(with);
  ASSERT_EQ(Names(result), NameList{"rank 5"});
  const double truth = 1 - static_cast<double>(without.end_ns) / static_cast<double>(with.end_ns);
  EXPECT_NEAR(result.stragglers[0].what_if->saving_ratio, truth, 0.001);
}

TEST(FindStragglers, ASavingThatLeavesLessThanOthersComputeIsNotTold) {
  PacedRun run = MakePacedRun(Cluster(1, 8), 1, Slow({3}, 0.5));
  ASSERT_EQ(Names(FindIn(run)), NameList{"rank 3"});
  ASSERT_TRUE(FindIn(run).stragglers[0].what_if);
  StepRow step;
  step.step = 1;
  step.tile.compute_ns = 1'000'000'000;  // longer than any step
  run.run.sources[run.ranks.ranks[5].source].steps = {step};
  const StragglerResult result = FindIn(run);
  ASSERT_EQ(Names(result), NameList{"rank 3"});
  EXPECT_FALSE(result.stragglers[0].what_if);
  EXPECT_FALSE(result.stragglers[0].why_no_saving.empty());
}

// Rank 5 is late everywhere, and each time another one is late by nearly as much.
TEST(FindStragglers, WhereClocksLeaveOpenWhetherOthersWaitedNoSavingIsTold) {
  PacedRun run = MakePacedRun(Cluster(1, 8), 34, [](int32_t rank, int step, int layer) {
    if (rank == 5) return 60'000;
    const int32_t other = (step * 6 + layer) % 7;
    return rank == (other < 5 ? other : other + 1) ? 50'000 : 0;
  });
  const StragglerResult exact = FindIn(run);
  ASSERT_EQ(Names(exact), NameList{"rank 5"});
  const Straggler& known = exact.stragglers[0];
  ASSERT_TRUE(known.what_if);
  EXPECT_LT(known.what_if->saving_ns_per_step, known.effect_ns_per_step / 2);
  for (MatchedInstance& instance : run.match.instances) instance.uncertainty_ns = 200'000;
  const StragglerResult open = FindIn(run);
  ASSERT_EQ(Names(open), NameList{"rank 5"});
  EXPECT_FALSE(open.stragglers[0].what_if);
  EXPECT_NE(open.stragglers[0].why_no_saving.find("clocks"), std::string::npos);
}

TEST(FindStragglers, EffectIsTheExcessOverThePeersInsideItsInterval) {
  const StragglerResult result = FindIn(MakePacedRun(Cluster(1, 8), 3, Slow({5}, 0.02)));
  ASSERT_EQ(result.stragglers.size(), 1u);
  const Straggler& it = result.stragglers[0];
  EXPECT_NEAR(static_cast<double>(it.effect_ns_per_step), 6 * 0.02 * kOwnNs, 0.002 * 6 * kOwnNs);
  EXPECT_LE(it.confidence_ns.first, it.effect_ns_per_step);
  EXPECT_GE(it.confidence_ns.second, it.effect_ns_per_step);
}

// The others of its tensor-parallel group come late to the data-parallel collectives, too, but not by their own doing.
TEST(FindStragglers, VictimsThatComeLateToAnotherCommunicatorAreNotNamed) {
  EXPECT_EQ(Names(FindIn(MakePacedRun(Cluster(4, 4), 4, Slow({6}, 0.03)))), NameList{"rank 6"});
}

TEST(FindStragglers, ASlowHostIsOneFindingNotOnePerRank) {
  EXPECT_EQ(Names(FindIn(MakePacedRun(Cluster(4, 4), 5, Slow({4, 5, 6, 7}, 0.02)))), NameList{"host node1"});
}

TEST(FindStragglers, ASlowHostIsFoundInsideOneGlobalCommunicatorToo) {
  PacedShape shape = Cluster(4, 4);
  shape.tp_inside_hosts = false;
  EXPECT_EQ(Names(FindIn(MakePacedRun(shape, 6, Slow({4, 5, 6, 7}, 0.02)))), NameList{"host node1"});
}

TEST(FindStragglers, GpusOfEqualPlaceOnAllHostsAreOneFinding) {
  PacedShape shape = Cluster(4, 4);
  shape.tp_inside_hosts = false;
  EXPECT_EQ(Names(FindIn(MakePacedRun(shape, 7, Slow({2, 6, 10, 14}, 0.02)))), NameList{"gpu 2"});
}

TEST(FindStragglers, OneSlowRankOfAHostIsNotTheHost) {
  PacedShape shape = Cluster(2, 2);
  shape.tp_inside_hosts = false;
  EXPECT_EQ(Names(FindIn(MakePacedRun(shape, 8, Slow({3}, 0.03)))), NameList{"rank 3"});
}

TEST(FindStragglers, OfTwoInOneCommunicatorBothAreNamed) {
  EXPECT_EQ(Names(FindIn(MakePacedRun(
                Cluster(1, 8), 9, [](int32_t rank, int, int) { return rank == 2   ? 40'000
                                                                      : rank == 5 ? 20'000
                                                                                  : 0; }))),
            (NameList{"rank 2", "rank 5"}));
}

// One of four, drawn anew for each step and layer.
int32_t Turn(int step, int layer) {
  return static_cast<int32_t>((static_cast<uint32_t>(step * 7 + layer) * 2654435761U) >> 30U);
}

TEST(FindStragglers, AHostWhoseRanksAreLateByTurnsIsTheHost) {
  PacedShape shape = Cluster(4, 4);
  shape.dp_across_hosts = false;
  const ExtraOwn by_turns = [](int32_t rank, int step, int layer) {
    return rank / 4 == 1 && rank % 4 == Turn(step, layer) ? 100'000 : 0;
  };
  EXPECT_EQ(Names(FindIn(MakePacedRun(shape, 31, by_turns))), NameList{"host node1"});
}

TEST(FindStragglers, OneThatIsSlowAndOneThatStallsAreNotTheirGroup) {
  PacedShape shape = Cluster(4, 2, 60);
  shape.dp_across_hosts = false;
  const ExtraOwn two = [](int32_t rank, int step, int layer) {
    if (rank == 2) return 50'000;
    return rank == 3 && layer == 0 && step % 18 == 11 ? 6'000'000 : 0;
  };
  for (const std::string& name : Names(FindIn(MakePacedRun(shape, 33, two)))) EXPECT_NE(name, "host node1");
}

TEST(FindStragglers, TwoThatCostAsMuchInDifferentWaysAreBothNamedAndNotTheirGroup) {
  PacedShape shape = Cluster(4, 2, 60);
  shape.dp_across_hosts = false;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const ExtraOwn two = [](int32_t rank, int step, int layer) {
      if (rank == 2) return 60'000;  // 360 us a step
      return rank == 3 && layer == 0 && step % 4 == 1 ? 1'200'000 : 0;
    };
    EXPECT_THAT(Names(FindIn(MakePacedRun(shape, seed, two))), testing::UnorderedElementsAre("rank 2", "rank 3"))
        << seed;
  }
}

TEST(FindStragglers, WhoIsLateByLessIsNotHiddenByOneThatStalls) {
  const ExtraOwn two = [](int32_t rank, int step, int layer) {
    if (rank == 0) return layer == 0 && Turn(step, 0) == 0 ? 8'000'000 : 0;
    return rank == 1 ? 40'000 : 0;
  };
  EXPECT_EQ(Names(FindIn(MakePacedRun(Cluster(1, 8, 60), 32, two))), (NameList{"rank 0", "rank 1"}));
}

TEST(FindStragglers, ASlowRailIsToldAsTheRail) {
  // Communicators 4 to 7 join the GPUs of equal place.
  const StragglerResult result = FindIn(
      MakePacedRun(Cluster(4, 4), 10, {}, [](int32_t communicator, int) { return communicator == 6 ? 200'000 : 0; }));
  ASSERT_EQ(Names(result), NameList{"rail 2"});
  ASSERT_FALSE(result.stragglers[0].parts.empty());
  EXPECT_EQ(result.stragglers[0].parts[0].cause, CauseKind::kTransfer);
}

TEST(FindStragglers, ASlowLinkInsideAHostIsToldAsItsCommunicator) {
  EXPECT_EQ(Names(FindIn(MakePacedRun(Cluster(4, 4), 11, {},
                                      [](int32_t communicator, int) { return communicator == 1 ? 40'000 : 0; }))),
            NameList{"communicator tp1"});
}

TEST(FindStragglers, APauseOfTheHostEveryTenStepsIsPeriodic) {
  PacedShape shape = Cluster(1, 16, 60);
  shape.host_extra = true;
  const StragglerResult result = FindIn(MakePacedRun(shape, 12, [](int32_t rank, int step, int layer) {
    return rank == 3 && layer == 0 && step % 10 == 4 ? 2'000'000 : 0;
  }));
  ASSERT_EQ(Names(result), NameList{"rank 3"});
  EXPECT_EQ(result.stragglers[0].kind, Recurrence::kPeriodic);
  EXPECT_EQ(result.stragglers[0].period_steps, 10);
  ASSERT_FALSE(result.stragglers[0].parts.empty());
  EXPECT_EQ(result.stragglers[0].parts[0].ns_per_step, 200'000);
}

// One slow stretch is one event, however long: it says nothing about the next.
TEST(FindStragglers, OneSlowStretchDecidesNothing) {
  const StragglerResult result = FindIn(MakePacedRun(Cluster(1, 16, 60), 19, [](int32_t rank, int step, int) {
    return rank == 3 && step >= 15 && step < 48 ? 40'000 : 0;
  }));
  EXPECT_EQ(Names(result), NameList{});
}

TEST(FindStragglers, SaysNotEnoughDataAndHowManyStepsWouldDo) {
  const StragglerResult few = FindIn(MakePacedRun(Cluster(1, 8, 7), 13, Slow({5}, 0.03)));
  EXPECT_TRUE(few.stragglers.empty());
  ASSERT_EQ(few.undecided.size(), 1u);
  EXPECT_EQ(few.undecided[0].id, "5");
  const auto enough = static_cast<int>(few.undecided[0].steps_needed);
  EXPECT_GT(enough, 7);
  EXPECT_LT(enough, 40);
  EXPECT_NE(few.reason.find(std::to_string(enough) + " would be enough"), std::string::npos) << few.reason;
  EXPECT_EQ(Names(FindIn(MakePacedRun(Cluster(1, 8, enough + 1), 13, Slow({5}, 0.03)))), NameList{"rank 5"});
}

TEST(UnitsText, BlocksAreNamedWithTheirLength) {
  StragglerResult result;
  EXPECT_EQ(UnitsText(result, 1'024), "1,024 steps");
  EXPECT_EQ(UnitsText(result, 1), "1 step");
  result.unit = "block";
  result.unit_ns = 3'610'000;
  EXPECT_EQ(UnitsText(result, 2), "2 blocks of 3.61 ms");
  EXPECT_EQ(WorthText(24, 24), "");
  EXPECT_EQ(WorthText(100, 5), " (equivalent to 5.0 independent ones)");
}

TEST(FindStragglers, WithTooFewStepsSaysSoEvenIfNobodyLooksLate) {
  const StragglerResult few = FindIn(MakePacedRun(Cluster(1, 8, 7), 20));
  EXPECT_TRUE(few.stragglers.empty());
  EXPECT_TRUE(few.undecided.empty());
  EXPECT_EQ(few.reason.rfind("not enough data: 7 steps", 0), 0u) << few.reason;
  EXPECT_EQ(FindIn(MakePacedRun(Cluster(1, 8, 40), 20)).reason, "");
}

// Every host pauses now and then: three pauses of one rank are nobody's habit yet.
TEST(FindStragglers, AFewPausesAreUndecidedAtMost) {
  const StragglerResult result = FindIn(MakePacedRun(Cluster(1, 8, 60), 21, [](int32_t rank, int step, int layer) {
    return (rank == 3 && step % 20 == 7 && layer == 0) || (rank == 6 && step == 30 && layer == 0) ? 1'000'000 : 0;
  }));
  EXPECT_EQ(Names(result), NameList{});
  ASSERT_LE(result.undecided.size(), 1u);
  for (const Undecided& it : result.undecided) {
    EXPECT_EQ(it.id, "3");
    EXPECT_TRUE(it.stands_out);
  }
}

TEST(FindStragglers, TellsTheIndependentStepsOfEveryRanksTest) {
  const StragglerResult result = FindIn(MakePacedRun(Cluster(1, 8, 40), 22));
  ASSERT_EQ(result.rank_n_eff.size(), 8u);
  for (const double count : result.rank_n_eff) {
    EXPECT_GT(count, 10);
    EXPECT_LE(count, 40);
  }
}

TEST(FindStragglers, SlowNoiseIsNotEnoughDataHoweverManyStepsThereAre) {
  PacedShape shape = Cluster(1, 8, 60);
  shape.rho = 0.97;
  shape.rho_sigma = 0.002;
  const StragglerResult result = FindIn(MakePacedRun(shape, 14, Slow({5}, 0.02)));
  EXPECT_TRUE(result.stragglers.empty());
  ASSERT_EQ(result.undecided.size(), 1u);
  EXPECT_GT(result.undecided[0].steps_needed, 100);
}

TEST(FindStragglers, WithoutStepsBlocksOfTimeAreTheUnit) {
  PacedShape shape = Cluster(1, 8, 60);
  shape.mark_steps = false;
  const StragglerResult result = FindIn(MakePacedRun(shape, 15, Slow({5}, 0.02)));
  EXPECT_EQ(result.unit, "block");
  EXPECT_EQ(Names(result), NameList{"rank 5"});
}

TEST(FindStragglers, ALateButCheapRankIsNoFinding) {
  EXPECT_TRUE(FindIn(MakePacedRun(Cluster(1, 8), 16, Slow({5}, 0.0025))).stragglers.empty());
}

TEST(FindStragglers, DurationsAloneAgreeOnWhoIsNamed) {
  const StragglerResult result = FindIn(MakePacedRun(Cluster(2, 4), 23, Slow({5}, 0.02)));
  ASSERT_EQ(Names(result), NameList{"rank 5"});
  EXPECT_EQ(result.stragglers[0].frontier, FrontierAnswer::kAgrees);
}

TEST(FindStragglers, OfOneBehindASlowerOneDurationsDoNotDisagree) {
  const StragglerResult result = FindIn(MakePacedRun(Cluster(1, 8), 9, [](int32_t rank, int, int) {
    return rank == 2 ? 40'000 : rank == 5 ? 20'000 : 0;
  }));
  ASSERT_EQ(Names(result), (NameList{"rank 2", "rank 5"}));
  EXPECT_EQ(result.stragglers[0].frontier, FrontierAnswer::kAgrees);
  EXPECT_EQ(result.stragglers[1].frontier, FrontierAnswer::kCannotTell);
}

TEST(FindStragglers, TellsWhatTheOthersLostToItByBlame) {
  const PacedRun run = MakePacedRun(Cluster(1, 8), 1, Slow({5}, 0.02));
  const StragglerResult result = FindIn(run);
  ASSERT_EQ(result.stragglers.size(), 1u);
  const BlameSum blame = BlameOn(PropagateBlame(run.graph, run.match), {5}, {});
  EXPECT_GT(blame.wait_ns, 3 * blame.critical_ns);
  EXPECT_GT(blame.critical_ns, 0);
  EXPECT_EQ(result.stragglers[0].blame.wait_ns, blame.wait_ns);
  EXPECT_EQ(result.stragglers[0].blame.critical_ns, blame.critical_ns);
}

// A sixth of the instances could not be joined: what ranks do to each other there is not known.
PacedRun Unfaithful(PacedRun run) {
  for (size_t i = 0; i < run.match.instances.size(); i += 6) {
    run.match.instances[i].confidence = 0;
    for (const MatchedMember& m : run.match.instances[i].members) {
      run.graph.ranks[static_cast<size_t>(m.rank_index)][static_cast<size_t>(m.row)].instance = -1;
      run.match.arrivals[static_cast<size_t>(m.rank_index)][static_cast<size_t>(m.row)] = {};
    }
  }
  run.graph.order.erase(std::remove_if(run.graph.order.begin(), run.graph.order.end(),
                                       [&](uint32_t i) { return !run.match.instances[i].usable(); }),
                        run.graph.order.end());
  return run;
}

TEST(FindStragglers, WithoutAFaithfulReplayWhoIsVeryLateIsNamedWithoutASaving) {
  const PacedRun run = Unfaithful(MakePacedRun(Cluster(1, 8), 24, Slow({5}, 0.05)));
  ASSERT_FALSE(ReplayOf(run).base().faithful);
  const StragglerResult result = FindIn(run);
  ASSERT_EQ(Names(result), NameList{"rank 5"});
  EXPECT_FALSE(result.stragglers[0].what_if.has_value());
  EXPECT_NE(result.reason.find("no saving is given"), std::string::npos) << result.reason;
}

TEST(FindStragglers, WithoutAFaithfulReplayWhoIsALittleLateIsNotNamed) {
  EXPECT_EQ(Names(FindIn(Unfaithful(MakePacedRun(Cluster(1, 8), 25, Slow({5}, 0.008))))), NameList{});
}

TEST(FindStragglers, WithoutAFaithfulReplayASlowHostIsTheHostAndASlowRankIsNot) {
  EXPECT_EQ(Names(FindIn(Unfaithful(MakePacedRun(Cluster(4, 4), 26, Slow({4, 5, 6, 7}, 0.04))))),
            NameList{"host node1"});
  PacedShape shape = Cluster(2, 2);
  shape.tp_inside_hosts = false;
  EXPECT_EQ(Names(FindIn(Unfaithful(MakePacedRun(shape, 27, Slow({3}, 0.06))))), NameList{"rank 3"});
}

TEST(FindStragglers, SaysWhyNothingCouldBeTested) {
  EXPECT_FALSE(FindIn(MakePacedRun(Cluster(1, 8, 0), 17)).reason.empty());
  EXPECT_FALSE(FindIn(MakePacedRun(Cluster(1, 1, 20), 17)).reason.empty());
}

// A rank that lost instances has segments twice as long: they must not make it a straggler.
TEST(FindStragglers, LostInstancesAreNotLateness) {
  PacedRun run = MakePacedRun(Cluster(1, 8), 18);
  for (MatchedInstance& instance : run.match.instances) {
    const auto number = static_cast<size_t>(&instance - run.match.instances.data());
    if (number % 5 != 2 || instance.members.size() != 8) continue;
    auto& rows = run.graph.ranks[3];
    const auto lost = static_cast<size_t>(instance.members[3].row);
    if (lost + 1 >= rows.size()) continue;
    rows[lost].instance = -1;
    ArrivalNode& next = rows[lost + 1];
    next.previous = rows[lost].previous;
    next.segment.rest_ns = next.segment.rest_ns + rows[lost].end_ns - next.segment.begin_ns + 2'000'000;
    instance.members.erase(instance.members.begin() + 3);
  }
  EXPECT_TRUE(FindIn(run).stragglers.empty());
}

// The others of its host are not the host that is late: a rank that lost half of its instances has half of the own
// time.
TEST(FindStragglers, ARankThatLostHalfOfItsInstancesMakesNoOtherHostLate) {
  PacedShape shape = Cluster(4, 2);
  shape.tp_inside_hosts = false;
  PacedRun run = MakePacedRun(shape, 28);
  for (size_t i = 1; i < run.match.instances.size(); i += 2) {
    MatchedInstance& instance = run.match.instances[i];
    if (LoseRecord(run, instance, 3)) instance.complete = false;
  }
  const StragglerResult result = FindIn(run);
  EXPECT_EQ(Names(result), NameList{});
  EXPECT_TRUE(result.undecided.empty());
}

struct NullFamily {
  int32_t hosts;
  int32_t gpus;
  double rho;
  unsigned runs;
};

class NullFamilies : public testing::TestWithParam<NullFamily> {};

TEST_P(NullFamilies, NameNobody) {
  const NullFamily family = GetParam();
  for (unsigned seed = 0; seed < family.runs; ++seed) {
    PacedShape shape = Cluster(family.hosts, family.gpus, 60);
    shape.device_spread = 0.001;
    shape.rho = family.rho;
    shape.rho_sigma = 0.002;
    EXPECT_EQ(Names(FindIn(MakePacedRun(shape, 500 + seed))), NameList{}) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(EightRanks, NullFamilies,
                         testing::Values(NullFamily{1, 8, 0, 15}, NullFamily{1, 8, 0.3, 15}, NullFamily{1, 8, 0.9, 15},
                                         NullFamily{1, 8, 0.99, 15}, NullFamily{4, 2, 0.9, 10}));
INSTANTIATE_TEST_SUITE_P(MoreRanks, NullFamilies,
                         testing::Values(NullFamily{8, 8, 0, 2}, NullFamily{8, 8, 0.9, 2}, NullFamily{8, 8, 0.99, 2}));

// Of the candidates of a run: that of a rank.
double MeanLateness(const TestedLateness& tested, int32_t rank) {
  for (size_t i = 0; i < tested.candidates.size(); ++i) {
    const Candidate& it = tested.candidates[i];
    if (it.scope == StragglerScope::kRank && it.rank_indices.front() == rank) return tested.judgements[i].mean_ns;
  }
  return -1;
}

TEST(Stragglers, OfTwoThatStallInDifferentStepsEachIsLateByItsOwnStalls) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    constexpr int64_t kFirstStalls = 900'000;
    constexpr int64_t kSecondStalls = 600'000;
    const PacedRun run = MakePacedRun({.gpus = 2, .steps = 60}, seed, [](int32_t rank, int step, int layer) -> int64_t {
      if (layer != 0) return 0;
      if (rank == 0) return step % 3 == 0 ? kFirstStalls : 0;
      return step % 4 == 1 && step % 3 != 0 ? kSecondStalls : 0;
    });
    const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
    EXPECT_NEAR(MeanLateness(tested, 0), kFirstStalls / 3.0, 0.1 * kFirstStalls / 3) << seed;
    EXPECT_NEAR(MeanLateness(tested, 1), kSecondStalls / 6.0, 0.1 * kSecondStalls / 6) << seed;
  }
}

TEST(Stragglers, OfTwoThatDifferByNoiseAloneNobodyIsLate) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const PacedRun run = MakePacedRun({.gpus = 2, .steps = 60, .noise = 0.02}, seed);
    EXPECT_TRUE(FindIn(run).stragglers.empty()) << seed;
    EXPECT_TRUE(FindIn(run).undecided.empty()) << seed;
  }
}

TEST(Stragglers, OfTwoThatBothStallEachHasTheHostForItsCause) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    PacedShape shape{.gpus = 2, .steps = 60};
    shape.host_extra = true;
    const PacedRun run = MakePacedRun(shape, seed, [](int32_t rank, int step, int layer) -> int64_t {
      return layer == 0 && step % 6 == (rank == 0 ? 1 : 4) ? 2'000'000 : 0;
    });
    const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
    for (const Candidate& it : tested.candidates) {
      if (it.scope != StragglerScope::kRank) continue;
      const double host_ns = it.parts[static_cast<size_t>(LatenessPart::kHost)];
      EXPECT_NEAR(host_ns, 2'000'000 / 6.0, 0.15 * 2'000'000 / 6) << seed << " rank " << it.id;
      EXPECT_EQ(host_ns, *std::max_element(it.parts.begin(), it.parts.end())) << seed;
    }
  }
}

// The table of Sellke, Bayarri and Berger (2001).
TEST(Confidence, OfAProbabilityIsAtMostWhatItIsCalibratedTo) {
  EXPECT_NEAR(1 - ConfidenceOf(0.05), 0.289, 0.0005);
  EXPECT_NEAR(1 - ConfidenceOf(0.01), 0.111, 0.0005);
  EXPECT_NEAR(1 - ConfidenceOf(0.005), 0.067, 0.0005);
  EXPECT_NEAR(1 - ConfidenceOf(0.001), 0.0184, 0.00005);
  EXPECT_EQ(ConfidenceOf(0), 1);
  EXPECT_EQ(ConfidenceOf(1), 0.5);
}

// The clock of rank 1 is 18 us early, so that as much of each wait for it looks like transfer.
TEST(FindStragglers, WhatAClockHidesMayBeSavedAsWell) {
  constexpr int64_t kLate = 100'000;
  constexpr int64_t kOff = 18'000;
  PacedRun run = MakePacedRun(Cluster(1, 2), 3, [](int32_t rank, int, int) { return rank == 1 ? kLate : 0; });
  for (ArrivalNode& node : run.graph.ranks[1]) {
    node.start_ns -= kOff;
    node.end_ns -= kOff;
    if (node.segment.begin_ns != kNoTime) node.segment.begin_ns -= kOff;
  }
  SetWork({}, run.graph.ranks[1]);
  for (MatchedInstance& instance : run.match.instances) {
    instance.members[1].start_ns -= kOff;
    instance.members[1].end_ns -= kOff;
    instance.uncertainty_ns = 3 * kOff;
  }
  const StragglerResult result = FindIn(run);
  ASSERT_EQ(result.stragglers.size(), 1U);
  const WhatIf& what_if = *result.stragglers[0].what_if;
  const double step_ns = static_cast<double>(what_if.saving_ns_per_step) / what_if.saving_ratio;
  EXPECT_NEAR(what_if.saving_ratio * step_ns, 6 * (kLate - kOff), 6 * 5'000);
  EXPECT_NEAR((what_if.saving_ratio + what_if.missed_ratio) * step_ns, 6 * kLate, 6 * 5'000);
  for (MatchedInstance& instance : run.match.instances) instance.uncertainty_ns = kOff / 3;
  const WhatIf known = *FindIn(run).stragglers.at(0).what_if;
  EXPECT_NEAR(known.missed_ratio * step_ns, 6 * kOff / 3 * 0.4, 6 * 500) << "clocks known to 6 us hide no more";
}

// Rank 1 of two stalls in every third step, and the other one waits for it.
TEST(MendsLittleOfStalls, IsWhatSavesFarLessThanTheOthersLostToIt) {
  constexpr int64_t kStallNs = 3'000'000;
  const PacedRun run = MakePacedRun(Cluster(1, 2), 3, [](int32_t rank, int step, int layer) {
    return rank == 1 && layer == 0 && step % 3 == 0 ? kStallNs : 0;
  });
  const Replay replay = ReplayOf(run);
  const BlameResult blame = PropagateBlame(run.graph, run.match);
  const StragglerInput input{run.run, run.ranks, run.match, run.graph, replay, blame};
  const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
  const Candidate& stalls = tested.candidates[1];
  const double late_ns = tested.judgements[1].mean_ns;
  EXPECT_NEAR(late_ns, kStallNs / 3.0, kStallNs / 30.0);
  EXPECT_TRUE(MendsLittleOfStalls(input, tested.units, stalls, late_ns, {.saving_ns_per_step = kStallNs / 20}));
  EXPECT_FALSE(MendsLittleOfStalls(input, tested.units, stalls, late_ns, {.saving_ns_per_step = kStallNs / 4}));
  EXPECT_FALSE(MendsLittleOfStalls(input, tested.units, tested.candidates[0], late_ns, {.saving_ns_per_step = 0}));
}

// Rank 1 of two stalls in all steps but every tenth, so that a step without a stall is the exception.
TEST(MendsLittleOfStalls, IsAlsoWhoStallsInMostSteps) {
  constexpr int64_t kStallNs = 3'000'000;
  const PacedRun run = MakePacedRun(Cluster(1, 2), 3, [](int32_t rank, int step, int layer) {
    return rank == 1 && layer == 0 && step % 10 != 0 ? kStallNs : 0;
  });
  const Replay replay = ReplayOf(run);
  const BlameResult blame = PropagateBlame(run.graph, run.match);
  const StragglerInput input{run.run, run.ranks, run.match, run.graph, replay, blame};
  const TestedLateness tested = TestLateness(run.ranks, run.match, run.graph, std::nullopt);
  Candidate often = tested.candidates[1];
  const double late_ns = tested.judgements[1].mean_ns;
  often.parts = {};
  often.parts[static_cast<size_t>(LatenessPart::kHost)] = late_ns;
  EXPECT_TRUE(MendsLittleOfStalls(input, tested.units, often, late_ns, {.saving_ns_per_step = kStallNs / 10}));
  EXPECT_FALSE(MendsLittleOfStalls(input, tested.units, often, late_ns, {.saving_ns_per_step = kStallNs / 2}));
  often.parts = {};
  often.parts[static_cast<size_t>(LatenessPart::kCompute)] = late_ns;
  EXPECT_FALSE(MendsLittleOfStalls(input, tested.units, often, late_ns, {.saving_ns_per_step = kStallNs / 10}))
      << "other work may hide what a slow device takes longer";
}

}  // namespace
}  // namespace lockstep
