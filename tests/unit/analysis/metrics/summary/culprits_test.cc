#include <gtest/gtest.h>

#include "analysis/metrics/summary/summary.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"
#include "tests/unit/analysis/metrics/summary/late_arrivals.h"

namespace lockstep {
namespace {

// Three ranks of one step of 10,000 ns. `host_bound`: most of it they are idle because of their hosts. `last_computes`:
// how much longer rank 2 computes.
FleetFixture ThreeRanks(bool host_bound = false, int64_t last_computes = 0) {
  RunBuilder run;
  for (int32_t r = 0; r < 3; ++r) {
    auto& rank = run.AddRank(r);
    rank.Kernel("gemm", {1'000});
    StepRow& step = rank.Step(1, 0, 10'000);
    step.tile.compute_ns = 1'000 + (r == 2 ? last_computes : 0);
    (host_bound ? step.tile.idle_host_ns : step.tile.idle_other_ns) = 10'000 - step.tile.compute_ns;
    rank.Window(0, 10'000);
  }
  return FleetFixture(run);
}

MatchedInstance OthersWaitFor(int32_t last, int64_t wait_ns) {
  MatchedInstance instance;
  instance.confidence = 1;
  instance.comparable = instance.last_certain = instance.all_pairs = instance.in_sequence = true;
  instance.last_rank_index = last;
  for (int32_t r = 0; r < 3; ++r) {
    MatchedMember member;
    member.rank_index = r;
    member.start_ns = r == last ? wait_ns : 0;
    member.end_ns = wait_ns + 10;
    member.wait_ns = r == last ? 0 : wait_ns;
    member.lateness_times_m_ns = 3 * member.start_ns - wait_ns;
    instance.members.push_back(member);
  }
  return instance;
}

std::vector<Culprit> Named(FleetFixture& fixture, const StragglerResult& stragglers, const BlameResult* blame) {
  const FleetMeasures measures = fixture.Measure();
  const Fleet fleet = fixture.Make();
  WaitBlame waiting = ComputeWaitBlame(fleet, measures, ComputeImbalance(fleet, measures), LateOf(fixture.match));
  NameCulprits(fleet, measures, stragglers, blame, waiting);
  return waiting.culprits;
}

Straggler Rank(int32_t rank) {
  Straggler straggler;
  straggler.id = std::to_string(rank);
  straggler.rank_indices = {rank};
  straggler.p_adjusted = 0.001;
  straggler.parts = {{CauseKind::kHostDelay, "", 100, 0}};
  straggler.effect_ns_per_step = 100;
  straggler.confidence_ns = {90, 110};
  straggler.what_if = WhatIf{.saving_ratio = 0.02};
  return straggler;
}

StragglerResult Tested() {
  StragglerResult result;
  result.steps = 40;
  result.least_steps = 10;
  result.decides = true;
  return result;
}

TEST(NameCulprits, AFindingThatDurationsContradictIsNotSure) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 100)};
  StragglerResult stragglers = Tested();
  stragglers.stragglers = {Rank(2)};
  stragglers.stragglers[0].frontier = FrontierAnswer::kCannotTell;
  EXPECT_NEAR(Named(fixture, stragglers, nullptr).at(0).confidence, 0.9816, 1e-4);
  stragglers.stragglers[0].frontier = FrontierAnswer::kDisagrees;
  EXPECT_EQ(Named(fixture, stragglers, nullptr).at(0).confidence, 0.5);
}

TEST(NameCulprits, WhoseWaitsAreShorterThanTheClocksTellIsNamedByASavingThatDurationsConfirm) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(0, 100)};
  StragglerResult stragglers = Tested();
  stragglers.stragglers = {Rank(2)};
  stragglers.stragglers[0].frontier = FrontierAnswer::kAgrees;
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_FALSE(named.empty());
  EXPECT_EQ(named[0].member, 2U);
  EXPECT_EQ(named[0].caused_wait_ns, 0);
  EXPECT_FALSE(named[0].open);
  for (const FrontierAnswer answer : {FrontierAnswer::kCannotTell, FrontierAnswer::kDisagrees}) {
    stragglers.stragglers[0].frontier = answer;
    for (const Culprit& it : Named(fixture, stragglers, nullptr)) EXPECT_NE(it.member, 2U);
  }
}

TEST(NameCulprits, AStragglerIsNamedWithItsCauseAndTheBlameItOriginates) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 100)};
  StragglerResult stragglers = Tested();
  stragglers.stragglers = {Rank(2)};
  BlameResult blame;
  blame.shares = {{2, -1, LatenessPart::kHost, 300, 0}, {1, -1, LatenessPart::kCompute, 100, 0}};
  blame.total_wait_ns = 400;
  const std::vector<Culprit> named = Named(fixture, stragglers, &blame);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].kind, CulpritKind::kStraggler);
  EXPECT_EQ(named[0].member, 2u);
  EXPECT_EQ(named[0].caused_wait_ns, 300);
  EXPECT_DOUBLE_EQ(named[0].share_of_wait, 0.75);
  EXPECT_DOUBLE_EQ(named[0].confidence, ConfidenceOf(0.001));
  EXPECT_EQ(named[0].cause, Name(CauseKind::kHostDelay));
}

// Kernels tell more, and are not there yet while a run grows.
TEST(NameCulprits, AStragglerWhoseKernelsTellNothingIsSaidToComputeLongerWhereItDoes) {
  for (const int64_t longer_ns : {0, 100}) {
    FleetFixture fixture = ThreeRanks(false, longer_ns);
    fixture.match.instances = {OthersWaitFor(2, 100)};
    StragglerResult stragglers = Tested();
    stragglers.stragglers = {Rank(2)};
    stragglers.stragglers[0].parts = {{CauseKind::kUnknown, "", 100, 0}};
    const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
    ASSERT_EQ(named.size(), 1u);
    EXPECT_EQ(named[0].cause, longer_ns > 0 ? "slow_compute" : Name(CauseKind::kUnknown));
    stragglers.stragglers[0].scope = StragglerScope::kStage;
    EXPECT_EQ(Named(fixture, stragglers, nullptr).at(0).cause, Name(CauseKind::kUnknown)) << "stages do different work";
  }
}

TEST(NameCulprits, OfAPartOfTheRunAStragglerIsNamedByWhatItCausedThere) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 500), OthersWaitFor(0, 20)};
  StragglerResult stragglers = Tested();
  stragglers.stragglers = {Rank(2), Rank(0)};
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1U) << "what rank 0 caused there is nothing";
  EXPECT_EQ(named[0].caused_wait_ns, 1'000);
  EXPECT_NEAR(named[0].share_of_wait, 1'000.0 / 1'040, 1e-9);
}

TEST(NameCulprits, WhoCausesMostWaitingIsNamedWhateverItsRhythm) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 10; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 100));
  for (int i = 0; i < 4; ++i) fixture.match.instances.push_back(OthersWaitFor(0, 100));
  StragglerResult tested = Tested();
  const std::vector<Culprit> named = Named(fixture, tested, nullptr);
  ASSERT_EQ(named.size(), 1U) << "rank 0 caused less than half";
  EXPECT_EQ(named[0].member, 2U);
  EXPECT_EQ(named[0].kind, CulpritKind::kIrregular);
}

TEST(NameCulprits, WhoIsLateMostWhereAllAreLateByAsMuchIsNotCertain) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 20; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 100));
  for (int i = 0; i < 3; ++i) fixture.match.instances.push_back(OthersWaitFor(0, 200));
  std::vector<Culprit> named = Named(fixture, Tested(), nullptr);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].member, 2U);
  EXPECT_EQ(named[0].confidence, 0.5);
  fixture.match.instances.push_back(OthersWaitFor(2, 300));
  named = Named(fixture, Tested(), nullptr);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_GT(named[0].confidence, 0.9);
}

// A broadcast in which the root is as early as it is late elsewhere: its receivers wait only where it is late.
TEST(NameCulprits, ARootThatIsAsOftenEarlyAsLateIsNotNamed) {
  MatchedInstance root_first = OthersWaitFor(2, 100);
  for (MatchedMember& member : root_first.members) {
    member.start_ns = 100 - member.start_ns;
    member.wait_ns = 0;
    member.lateness_times_m_ns = -member.lateness_times_m_ns;
  }
  root_first.last_rank_index = 0;
  root_first.last_certain = root_first.all_pairs = false;
  FleetFixture fixture = ThreeRanks();
  const StragglerResult tested = Tested();
  for (int i = 0; i < 10; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 100));
  EXPECT_EQ(Named(fixture, tested, nullptr).size(), 1U);
  for (int i = 0; i < 10; ++i) fixture.match.instances.push_back(root_first);
  EXPECT_TRUE(Named(fixture, tested, nullptr).empty());
}

TEST(NameCulprits, AStageThatReceiversWaitForIsNotNamedByThatAlone) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 10; ++i) {
    fixture.match.instances.push_back(OthersWaitFor(1, 100));
    fixture.match.instances.back().in_sequence = false;
  }
  EXPECT_TRUE(Named(fixture, Tested(), nullptr).empty());
}

TEST(NameCulprits, WhoIsLastBecauseItHadWaitedForAnotherOneIsNotNamed) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 1'000), OthersWaitFor(1, 900)};
  BlameResult blame;
  blame.shares = {{2, -1, LatenessPart::kHost, 3'700, 0}, {1, -1, LatenessPart::kCompute, 100, 0}};
  blame.total_wait_ns = 3'800;
  const std::vector<Culprit> named = Named(fixture, Tested(), &blame);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].member, 2U);
}

TEST(NameCulprits, AStragglerWithoutASavingIsNamedOnlyForWaitingThatCostsSomething) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 100)};
  StragglerResult stragglers = Tested();
  stragglers.stragglers = {Rank(0)};
  BlameResult blame;
  blame.total_wait_ns = 1'000;
  for (const int64_t blamed_ns : {140, 160}) {  // of 30,000 ns of the three ranks
    blame.shares = {{0, -1, LatenessPart::kHost, blamed_ns, 0}};
    stragglers.stragglers[0].what_if = WhatIf{.saving_ratio = 0.02};
    EXPECT_EQ(Named(fixture, stragglers, &blame).at(0).member, 0U);
    stragglers.stragglers[0].what_if.reset();
    EXPECT_EQ(Named(fixture, stragglers, &blame).size(), blamed_ns == 160 ? 1U : 0U) << blamed_ns;
  }
}

TEST(NameCulprits, AStragglerForWhomNobodyWaitsAccusesNobody) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 100)};
  StragglerResult stragglers = Tested();
  stragglers.stragglers = {Rank(0)};
  BlameResult blame;
  blame.total_wait_ns = 200;
  for (const Culprit& culprit : Named(fixture, stragglers, &blame)) EXPECT_NE(culprit.member, 0U);
}

TEST(NameCulprits, WhoIsLastOfThoseWithARecordIsNotSureAndSavesNothingForCertain) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 500)};
  fixture.match.instances[0].lacking = true;
  fixture.match.instances[0].last_certain = false;
  StragglerResult stragglers = Tested();
  stragglers.stragglers = {Rank(2)};
  BlameResult blame;
  blame.shares = {{2, -1, LatenessPart::kHost, 1'000, 0}};
  blame.total_wait_ns = 1'000;
  const std::vector<Culprit> named = Named(fixture, stragglers, &blame);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_TRUE(named[0].open);
  EXPECT_LE(named[0].confidence, 0.5);
}

TEST(NameCulprits, AHealthyRunThatWasTestedNamesNobody) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(i % 3, 400));
  EXPECT_TRUE(Named(fixture, Tested(), nullptr).empty());
}

TEST(NameCulprits, OneLongWaitIsNamedAsOnce) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(i % 3, 40));
  fixture.match.instances.push_back(OthersWaitFor(1, 3'000));
  const std::vector<Culprit> named = Named(fixture, Tested(), nullptr);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].member, 1u);
  EXPECT_EQ(named[0].kind, CulpritKind::kOnce);
}

TEST(NameCulprits, WhoLooksLateButIsNotDecidedIsNamedAsSuch) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 100));
  StragglerResult stragglers = Tested();
  stragglers.undecided = {{StragglerScope::kRank, "2", 40, 5, 90, {2}, false, Rank(2)}};
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].kind, CulpritKind::kUndecided);
  ASSERT_NE(named[0].looks, nullptr);
  EXPECT_EQ(named[0].looks->what_if->saving_ratio, 0.02);
}

TEST(NameCulprits, OneOfAGroupThatLooksLateIsNotSure) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 100));
  StragglerResult stragglers = Tested();
  stragglers.undecided = {{StragglerScope::kCommunicator, "ab", 40, 5, 90, {1, 2}, false, Rank(2)}};
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].looks, nullptr);
  EXPECT_EQ(named[0].confidence, 0.5);
}

TEST(NameCulprits, WhoIsNotDecidedAndCostsNoMoreThanNoiseIsAsSureAsItsTest) {
  for (const double saving : {0.01, 0.03}) {
    FleetFixture fixture = ThreeRanks();
    for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 100));
    Straggler looks = Rank(2);
    looks.what_if->saving_ratio = saving;
    looks.p_adjusted = 0.05;
    StragglerResult stragglers = Tested();
    stragglers.undecided = {{StragglerScope::kRank, "2", 40, 5, 90, {2}, false, looks}};
    const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
    ASSERT_EQ(named.size(), 1u);
    EXPECT_EQ(named[0].confidence, saving < 0.02 ? ConfidenceOf(0.05) : 1);
  }
}

// One pause of one of them lasts for many steps, and costs nothing.
TEST(NameCulprits, WhoseHostIsBehindWhereAllHostsAreTheLimitIsNotSure) {
  for (const bool host_bound : {false, true}) {
    FleetFixture fixture = ThreeRanks(host_bound);
    for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 100));
    StragglerResult stragglers = Tested();
    stragglers.undecided = {{StragglerScope::kRank, "2", 40, 5, 90, {2}, true, Rank(2)}};
    EXPECT_EQ(Named(fixture, stragglers, nullptr).at(0).confidence, host_bound ? 0.5 : 1);
    stragglers.undecided[0].p_stalls = 0.001;  // it stalls again and again, as nobody else does
    EXPECT_EQ(Named(fixture, stragglers, nullptr).at(0).confidence, 1);
  }
}

TEST(NameCulprits, WithTooFewStepsForATestTheLastArriverOfMostWaitingIsNamed) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 4; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 300));
  for (int i = 0; i < 3; ++i) fixture.match.instances.push_back(OthersWaitFor(0, 100));
  StragglerResult stragglers;
  stragglers.steps = 4;
  stragglers.least_steps = 10;
  stragglers.decides = false;
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].member, 2u);
  EXPECT_EQ(named[0].kind, CulpritKind::kNotTested);
}

StragglerResult TooFewSteps() {
  StragglerResult result;
  result.steps = 4;
  result.least_steps = 10;
  result.unit_ns = 10'000;
  result.decides = false;
  return result;
}

TEST(NameCulprits, WithTooFewStepsForATestWhoTakesNoLongerThanItsPeersIsNotNamed) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 4; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 300));
  for (int i = 0; i < 3; ++i) fixture.match.instances.push_back(OthersWaitFor(0, 100));
  StragglerResult stragglers = TooFewSteps();
  stragglers.rank_late_ns = {0, 0, 900};
  EXPECT_EQ(Named(fixture, stragglers, nullptr).size(), 1U);
  stragglers.rank_late_ns = {900, 0, 20};
  EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty());
}

TEST(NameCulprits, WithTooFewStepsForATestWhoWaitedAsLongAsItWasLateIsNotSureUnlessItIsTheOrigin) {
  for (const int64_t waited_ns : {100, 700}) {
    FleetFixture fixture = ThreeRanks();
    for (int i = 0; i < 4; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 300));
    fixture.match.instances.push_back(OthersWaitFor(0, waited_ns));
    BlameResult blame;
    blame.total_wait_ns = 2'400 + 2 * waited_ns;
    EXPECT_EQ(Named(fixture, TooFewSteps(), nullptr).at(0).member, 2U);
    EXPECT_EQ(Named(fixture, TooFewSteps(), nullptr).at(0).confidence, waited_ns == 100 ? 1 : 0.5);
    blame.shares = {{2, -1, LatenessPart::kCompute, 2'400, 0}};
    EXPECT_EQ(Named(fixture, TooFewSteps(), &blame).at(0).confidence, 1);
    blame.shares = {{2, -1, LatenessPart::kCompute, 1'300, 0}, {0, -1, LatenessPart::kCompute, 2'500, 0}};
    EXPECT_EQ(Named(fixture, TooFewSteps(), &blame).at(0).confidence, waited_ns == 100 ? 1 : 0.5);
  }
}

TEST(NameCulprits, WithTooFewStepsForATestTheOriginOfMostWaitingIsNamedWhereItCostMuch) {
  for (const int64_t scale : {1, 5}) {
    FleetFixture fixture = ThreeRanks();
    fixture.match.instances = {OthersWaitFor(2, 200 * scale), OthersWaitFor(1, 500 * scale),
                               OthersWaitFor(1, 480 * scale)};
    BlameResult blame;
    blame.total_wait_ns = 2'360 * scale;
    blame.shares = {{2, -1, LatenessPart::kHost, 2'200 * scale, 0}};
    const std::vector<Culprit> named = Named(fixture, TooFewSteps(), &blame);
    ASSERT_EQ(named.size(), scale == 1 ? 0U : 1U);
    if (named.empty()) continue;
    EXPECT_EQ(named[0].member, 2U);
    EXPECT_EQ(named[0].caused_wait_ns, 11'000);
  }
}

TEST(NameCulprits, WhoWasLateOnceAndWaitedAsLongItselfIsNotSureWhereTheWaitsWereNotFollowed) {
  for (const int64_t waited_ns : {400, 2'000}) {
    FleetFixture fixture = ThreeRanks();
    fixture.match.instances = {OthersWaitFor(0, waited_ns), OthersWaitFor(1, 3'000)};
    const std::vector<Culprit> named = Named(fixture, Tested(), nullptr);
    ASSERT_FALSE(named.empty());
    EXPECT_EQ(named[0].member, 1U);
    EXPECT_EQ(named[0].kind, CulpritKind::kOnce);
    EXPECT_EQ(named[0].confidence, waited_ns == 400 ? 1 : 0.5);
  }
}

TEST(NameCulprits, WhoLooksLateIsToldWithWhatOthersLostToItByWayOfOthersUnlessTheyAreStages) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 100));
  StragglerResult stragglers = Tested();
  stragglers.undecided = {{StragglerScope::kRank, "2", 40, 5, 90, {2}, false, Rank(2)}};
  BlameResult blame;
  blame.total_wait_ns = 6'000;
  blame.shares = {{2, -1, LatenessPart::kCompute, 4'500, 0}};
  EXPECT_EQ(Named(fixture, stragglers, &blame).at(0).caused_wait_ns, 4'500);
  EXPECT_EQ(Named(fixture, stragglers, nullptr).at(0).caused_wait_ns, 2'400);
}

// Every stage is waited for by the next one, and nobody knows yet whether it is late.
TEST(NameCulprits, WithTooFewStepsForATestASenderThatItsReceiversWaitForIsNotNamed) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 4; ++i) {
    MatchedInstance sent = OthersWaitFor(2, 300);
    sent.members.erase(sent.members.begin());  // one receiver, and its sender
    sent.all_pairs = sent.in_sequence = false;
    sent.members.front().awaits = 2;
    sent.members.front().awaits_certainly = true;
    fixture.match.instances.push_back(sent);
  }
  for (int i = 0; i < 3; ++i) fixture.match.instances.push_back(OthersWaitFor(0, 20));
  StragglerResult stragglers;
  stragglers.steps = 4;
  stragglers.least_steps = 10;
  stragglers.decides = false;
  EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty());
}

TEST(NameCulprits, OnePauseInARunTooShortForATestNamesNobody) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 6; ++i) fixture.match.instances.push_back(OthersWaitFor(i % 3, 100));
  fixture.match.instances.push_back(OthersWaitFor(1, 450));
  StragglerResult stragglers;
  stragglers.steps = 4;
  stragglers.least_steps = 10;
  stragglers.decides = false;
  EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty());
}

TEST(NameCulprits, WhoIsNotDecidedAndHasNoMoreThanItsPartOfTheWaitingIsNotNamed) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(i % 3, 100));
  StragglerResult stragglers = Tested();
  stragglers.undecided = {{StragglerScope::kRank, "2", 40, 5, 90, {2}, false, Rank(2)}};
  EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty());
}

TEST(NameCulprits, WhoStalledAtACostIsNamedWhateverItsPartOfTheWaiting) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(i % 3, 100));
  StragglerResult stragglers = Tested();
  stragglers.undecided = {{StragglerScope::kRank, "2", 40, 5, 90, {2}, true, Rank(2)}};
  EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty()) << "all stall as often, by turns";
  stragglers.undecided[0].p_stalls = 0.1;
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].member, 2u);
  EXPECT_EQ(named[0].kind, CulpritKind::kUndecided);
  stragglers.undecided[0].looks.what_if->saving_ratio = 0.015;
  EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty());
}

TEST(NameCulprits, WhatNoNaturalPauseExplainsIsNamedAtLessThanThatOneCosts) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(i % 3, 100));
  for (const bool in_a_stretch : {false, true}) {
    StragglerResult stragglers = Tested();
    stragglers.undecided = {{StragglerScope::kRank, "2", 40, 5, 90, {2}, true, Rank(2)}};
    Undecided& it = stragglers.undecided[0];
    it.p_stalls = 0.1;
    it.looks.what_if->saving_ratio = 0.01;
    EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty());
    if (in_a_stretch) {
      it.looks.kind = Recurrence::kBursty;
    } else {
      it.p_stalls = 0.01;  // no peer has as many stalls
    }
    EXPECT_EQ(Named(fixture, stragglers, nullptr).size(), 1u);
    it.looks.what_if->saving_ratio = 0.006;
    EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty());
  }
}

TEST(NameCulprits, WhoseLatenessIsOneEventIsNamedAsLateOnceHoweverManyCollectivesItHeldUp) {
  FleetFixture fixture = ThreeRanks();
  for (int i = 0; i < 12; ++i) fixture.match.instances.push_back(OthersWaitFor(2, 100));
  StragglerResult stragglers = Tested();
  stragglers.once = {{2, 1'200}};
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].kind, CulpritKind::kOnce);
  // What the others wait for it besides, as in a pipeline, is not that event's.
  stragglers.once = {{2, 10}};
  for (const Culprit& other : Named(fixture, stragglers, nullptr)) EXPECT_NE(other.kind, CulpritKind::kOnce);
}

TEST(NameCulprits, SeveralRanksWithoutASavingAreNotSureUnlessTheDurationsAgree) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 3'000), OthersWaitFor(1, 1'000)};
  StragglerResult stragglers = Tested();
  Straggler both = Rank(2);
  both.scope = StragglerScope::kHost;
  both.rank_indices = {1, 2};
  both.what_if.reset();
  stragglers.stragglers = {both};
  std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_LE(named[0].confidence, 0.5);
  stragglers.stragglers[0].frontier = FrontierAnswer::kAgrees;
  named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_GT(named[0].confidence, 0.9);
}

TEST(NameCulprits, WhoTheReplayContradictsIsNotSureAndComesLast) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 3'000), OthersWaitFor(1, 100)};
  StragglerResult stragglers = Tested();
  stragglers.stragglers = {Rank(2), Rank(1)};
  stragglers.stragglers[0].what_if.reset();
  stragglers.stragglers[0].contradicted = true;
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].member, 1u);
  EXPECT_EQ(named[1].member, 2u);
  EXPECT_LE(named[1].confidence, 0.5);
}

TEST(MostAwaitedMember, IsWhoCausedHalfOfAllWaitingAmongThreeOrMore) {
  WaitBlame blame;
  blame.wait_ns = 100;
  blame.by_member.resize(3);
  blame.by_member[1].caused_ns = 50;
  EXPECT_EQ(MostAwaitedMember(blame), 1U);
  blame.by_member[1].caused_ns = 49;
  EXPECT_EQ(MostAwaitedMember(blame), std::nullopt);
  blame.by_member[1].caused_ns = 100;
  blame.by_member.resize(2);
  EXPECT_EQ(MostAwaitedMember(blame), std::nullopt);  // of two ranks each waits for the other one
}

TEST(DoubtBeside, NoCulpritIsCertainBesideMoreTimeThatIsUnresolved) {
  std::vector<Culprit> culprits(1);
  culprits[0].confidence = 1;
  UnresolvedTime unresolved;
  DoubtBeside(unresolved, culprits);
  EXPECT_EQ(culprits[0].confidence, 1) << "it does not lead";
  unresolved.leads = true;
  DoubtBeside(unresolved, culprits);
  EXPECT_EQ(culprits[0].confidence, 0.5);
}

TEST(DoubtBeside, WhatAVictimComputesLongerMayBeItsWaitInAnUnknownKernel) {
  std::vector<Culprit> culprits(3);
  culprits[0].member = 0;
  culprits[0].cause = Name(CauseKind::kSlowKernel);
  culprits[1].member = 1;
  culprits[1].cause = Name(CauseKind::kHostDelay);
  culprits[2].member = 2;  // who spends least in the kernel computes longest
  culprits[2].cause = Name(CauseKind::kSlowDevice);
  UnresolvedTime unresolved;
  unresolved.leads = true;
  unresolved.kernel = WaitingKernel{.name = "mystery", .shortest = 2};
  DoubtBeside(unresolved, culprits);
  EXPECT_EQ(culprits[0].cause, "");
  EXPECT_EQ(culprits[1].cause, Name(CauseKind::kHostDelay));
  EXPECT_EQ(culprits[2].cause, Name(CauseKind::kSlowDevice));
}

TEST(AssumesAllRanks, OnlyWhereNobodyTellsTheSizeOfTheJob) {
  FleetFixture fixture = ThreeRanks();
  fixture.ranks.world_size.reset();
  EXPECT_TRUE(AssumesAllRanks(fixture.Make()));
  fixture.options.expected_ranks = 3;
  EXPECT_FALSE(AssumesAllRanks(fixture.Make()));
}

TEST(NameCulprits, WhomTheReplayClearsIsNamedOnlyForMoreThanItsPartOfTheWaiting) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 100)};
  StragglerResult stragglers = Tested();
  stragglers.stragglers = {Rank(2)};
  stragglers.stragglers[0].what_if.reset();
  stragglers.stragglers[0].contradicted = true;
  BlameResult blame;
  blame.shares = {{2, -1, LatenessPart::kHost, 260, 0}};
  blame.total_wait_ns = 400;  // 1.95 even parts
  ASSERT_EQ(Named(fixture, stragglers, &blame).size(), 1u);
  EXPECT_EQ(Named(fixture, stragglers, &blame)[0].kind, CulpritKind::kStraggler);
  blame.shares = {{2, -1, LatenessPart::kHost, 160, 0}};  // 1.2
  for (const Culprit& it : Named(fixture, stragglers, &blame)) EXPECT_NE(it.kind, CulpritKind::kStraggler);
}

// The same wait again and again, so that it is not what happened once.
std::vector<MatchedInstance> OthersWaitOftenFor(int32_t last, int64_t wait_ns) {
  std::vector<MatchedInstance> instances;
  for (int i = 0; i < 8; ++i) instances.push_back(OthersWaitFor(last, wait_ns / 8));
  return instances;
}

// Rank 1 stalls at a cost of 3 % of the step, as the replay tells.
Undecided StallsAtACost(double p_stalls) {
  Undecided undecided;
  undecided.id = "1";
  undecided.rank_indices = {1};
  undecided.stands_out = true;
  undecided.looks = Rank(1);
  undecided.looks.what_if->saving_ratio = 0.03;
  undecided.p_stalls = p_stalls;
  return undecided;
}

// Each of a pair has one that waits, and what the clocks do not resolve is no certain wait.
TEST(NameCulprits, WhoStallsAtACostIsNamedHoweverLittleTheOthersCertainlyWaitForIt) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = OthersWaitOftenFor(2, 80);
  StragglerResult stragglers = Tested();
  stragglers.undecided = {StallsAtACost(0.001)};
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_FALSE(named.empty());
  EXPECT_EQ(named[0].member, 1u);
  EXPECT_EQ(named[0].kind, CulpritKind::kUndecided);
  EXPECT_EQ(named[0].confidence, 0.5);          // nobody certainly waits for it
  stragglers.undecided = {StallsAtACost(0.9)};  // all stall by turns
  for (const Culprit& it : Named(fixture, stragglers, nullptr)) EXPECT_NE(it.member, 1u);
}

TEST(NameCulprits, ARankThatStallsIsNamedBeforeTheStageThatItIsAloneIn) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = OthersWaitOftenFor(1, 4'000);
  StragglerResult stragglers = Tested();
  Undecided stage = StallsAtACost(0.001);
  stage.scope = StragglerScope::kStage;
  stage.stands_out = false;
  stragglers.undecided = {stage, StallsAtACost(0.001)};
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1u);
  ASSERT_NE(named[0].looks, nullptr);
  EXPECT_EQ(named[0].kind, CulpritKind::kUndecided);
}

TEST(NameCulprits, WhoIsLateThroughoutIsNamedButNotAsSure) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = OthersWaitOftenFor(1, 4'000);
  StragglerResult stragglers = Tested();
  stragglers.undecided = {StallsAtACost(1)};
  stragglers.undecided[0].stands_out = false;
  stragglers.undecided[0].late_throughout = true;
  const std::vector<Culprit> named = Named(fixture, stragglers, nullptr);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].confidence, 0.5);
}

// A rank that is late by chance, as the unlike steps of its peers leave open.
TEST(NameCulprits, WhatMayBeChanceIsNotNamed) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = OthersWaitOftenFor(1, 1'600);
  StragglerResult stragglers = Tested();
  stragglers.undecided = {StallsAtACost(1)};
  stragglers.undecided[0].stands_out = false;
  EXPECT_FALSE(Named(fixture, stragglers, nullptr).empty());
  stragglers.undecided[0].looks.what_if->deviation_ratio = 0.02;
  for (const Culprit& it : Named(fixture, stragglers, nullptr)) EXPECT_NE(it.kind, CulpritKind::kUndecided);
}

TEST(NameCulprits, WhoIsLateBelowWhatTheClocksTellIsNamedIfDurationsAgree) {
  FleetFixture fixture = ThreeRanks();
  fixture.match.instances = {OthersWaitFor(2, 0)};
  StragglerResult stragglers = Tested();
  stragglers.unit_ns = 10'000;
  stragglers.stragglers = {Rank(1)};
  stragglers.stragglers[0].what_if.reset();
  stragglers.stragglers[0].frontier = FrontierAnswer::kAgrees;
  stragglers.stragglers[0].effect_ns_per_step = 120;
  EXPECT_EQ(Named(fixture, stragglers, nullptr).size(), 1u);
  stragglers.stragglers[0].effect_ns_per_step = 80;
  EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty());
  stragglers.stragglers[0].effect_ns_per_step = 120;
  stragglers.stragglers[0].frontier = FrontierAnswer::kCannotTell;
  EXPECT_TRUE(Named(fixture, stragglers, nullptr).empty());
}

TEST(SavingInterval, HoldsTheSavingIsNarrowEnoughToActOnAndStaysWithinTheStep) {
  for (const double saving : {-0.01, 0.0, 0.001, 0.02, 0.3, 0.97, 1.0}) {
    const auto [low, high] = SavingInterval({.saving_ratio = saving});
    EXPECT_LE(low, saving);
    EXPECT_GE(high, saving);
    EXPECT_LE(high, 1);
    EXPECT_LE(high - low, 0.3 * std::abs(saving) + 0.005) << saving;
    EXPECT_GE(low, std::min(saving, 0.0));
  }
  const auto [low, high] = SavingInterval({.saving_ratio = 0.3});
  EXPECT_LT(low, 0.28);
  EXPECT_GT(high, 0.33);
}

TEST(SavingInterval, HoldsWhatLostRecordsMayHide) {
  const auto [low, high] = SavingInterval({.saving_ratio = 0.05, .missed_ratio = 0.03});
  EXPECT_EQ(low, SavingInterval({.saving_ratio = 0.05}).first);
  EXPECT_EQ(high, 0.08);
}

TEST(SavingInterval, HoldsWhatTheNoiseOfTheStepsLeavesOpen) {
  const auto [low, high] = SavingInterval({.saving_ratio = 0.05, .deviation_ratio = 0.02});
  EXPECT_LT(low, 0.05 - 1.6 * 0.02);
  EXPECT_GT(high, 0.05 + 1.6 * 0.02);
  EXPECT_EQ(SavingInterval({.saving_ratio = 0.01, .deviation_ratio = 0.02}).first, 0);
}

}  // namespace
}  // namespace lockstep
