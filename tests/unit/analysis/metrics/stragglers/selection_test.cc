#include "analysis/metrics/stragglers/selection.h"

#include <gtest/gtest.h>

#include "analysis/metrics/stragglers/stragglers.h"
#include "tests/unit/analysis/metrics/stragglers/eight_ranks.h"

namespace lockstep {
namespace {

Selection Select(const std::vector<Candidate>& candidates, size_t units, const Costs& costs) {
  TestUnits steps;
  steps.are_steps = true;
  steps.unit_ns = 10'000'000;
  steps.count = units;
  for (size_t unit = 0; unit < units; ++unit) steps.start_ns.push_back(static_cast<int64_t>(unit) * steps.unit_ns);
  std::vector<RankOwnTime> own(8);
  return SelectStragglers(candidates, JudgeCandidates(candidates), own, steps, costs);
}

// Who is selected of eight ranks of which rank 5 is late by 300 us of a step of 10 ms in 70 % of `units` steps.
Selection Select(size_t units, const Costs& costs) { return Select(EightRanks(2, units, 0.7, 300'000), units, costs); }

// On the critical path for `critical_ns` a step.
Costs CostsOf(size_t units, int64_t critical_ns) {
  Costs costs;
  costs.critical_ns = [=](const Candidate&) { return static_cast<int64_t>(units) * critical_ns; };
  return costs;
}

TEST(SelectStragglers, WhomNobodyCanBeComparedWithIsFoundWithoutASaving) {
  Costs costs = CostsOf(100, 200'000);
  costs.saving = [](const Idealisation&) { return std::optional<WhatIf>(); };
  const Selection selection = Select(100, costs);
  ASSERT_EQ(selection.found.size(), 1u);
  EXPECT_EQ(selection.found[0].candidate, 5u);
  EXPECT_FALSE(selection.found[0].what_if);
}

TEST(SelectStragglers, WhoseMendingWouldMakeTheRunLongerIsToldNoSaving) {
  Costs costs = CostsOf(100, 200'000);
  costs.saving = [](const Idealisation&) { return std::optional(WhatIf{.saving_ratio = -0.13}); };
  const Selection selection = Select(100, costs);
  ASSERT_EQ(selection.found.size(), 1u);
  EXPECT_FALSE(selection.found[0].what_if);
  costs = CostsOf(100, 50'000);
  costs.saving = [](const Idealisation&) { return std::optional(WhatIf{.saving_ratio = -0.13}); };
  EXPECT_TRUE(Select(100, costs).found.empty()) << "it holds nobody up";
}

TEST(SelectStragglers, ThatMendingTheOnlyRankOfAStageSavesNothingDoesNotSpeakAgainstWhatOthersLostToIt) {
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  Costs costs = CostsOf(100, 200'000);
  costs.saving = [](const Idealisation&) { return std::optional(WhatIf{.saving_ratio = 0.001}); };
  EXPECT_TRUE(Select(candidates, 100, costs).found.empty());
  for (Candidate& candidate : candidates) candidate.with_itself = true;
  ASSERT_EQ(Select(candidates, 100, costs).found.size(), 1u);
  EXPECT_FALSE(Select(candidates, 100, costs).found[0].what_if);
}

TEST(SelectStragglers, OfTwoStagesThatStallInTheSameStepsItIsNotToldWhichOneTheOthersWaitFor) {
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  for (Candidate& candidate : candidates) candidate.with_itself = true;
  Costs costs = CostsOf(100, 200'000);
  costs.saving = [](const Idealisation&) { return std::optional<WhatIf>(); };
  ASSERT_EQ(Select(candidates, 100, costs).found.size(), 1u);
  for (size_t k = 0; k < candidates[5].series.size(); ++k) {
    if (candidates[5].series[k] > 150'000) candidates[2].series[k] += 150'000;
  }
  EXPECT_TRUE(Select(candidates, 100, costs).found.empty());
}

TEST(SelectStragglers, WithoutASavingWhoHoldsNobodyUpIsNotFound) {
  Costs costs = CostsOf(100, 50'000);
  costs.saving = [](const Idealisation&) { return std::optional<WhatIf>(); };
  EXPECT_TRUE(Select(100, costs).found.empty());
}

TEST(SelectStragglers, AStageWhoseSavingIsNotKnownIsNotFoundByItsNature) {
  Costs costs = CostsOf(100, 200'000);
  costs.saving = [](const Idealisation&) { return std::optional<WhatIf>(); };
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  for (Candidate& candidate : candidates) candidate.scope = StragglerScope::kStage;
  EXPECT_TRUE(Select(candidates, 100, costs).found.empty());
}

TEST(SelectStragglers, AStageIsNotFoundWithoutAReplayUnlessItsDevicesComputeLonger) {
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  for (Candidate& candidate : candidates) candidate.scope = StragglerScope::kStage;
  Costs costs = CostsOf(100, 200'000);  // and no saving: the replay does not reproduce the run
  EXPECT_TRUE(Select(candidates, 100, costs).found.empty()) << "nothing is known of what they compute";
  costs.compute_excess_ns = [](const Candidate&) { return 20'000.0; };
  EXPECT_TRUE(Select(candidates, 100, costs).found.empty());
  costs.compute_excess_ns = [](const Candidate&) { return 200'000.0; };
  ASSERT_EQ(Select(candidates, 100, costs).found.size(), 1u);
}

TEST(SelectStragglers, AStallThatNoReplaySpeaksOfIsUndecidedWithoutASaving) {
  std::vector<Candidate> candidates = EightRanks(4, 60, 0, 0);
  candidates[5].series[10] = candidates[5].series[40] = 12'000'000;
  Costs costs = CostsOf(60, 200'000);
  costs.saving = [](const Idealisation&) { return std::optional<WhatIf>(); };
  const Selection selection = Select(candidates, 60, costs);
  ASSERT_EQ(selection.undecided.size(), 1u);
  EXPECT_EQ(selection.undecided[0].candidate, 5u);
  EXPECT_TRUE(selection.undecided[0].stands_out);
  EXPECT_FALSE(selection.undecided[0].what_if);
  for (Candidate& candidate : candidates) candidate.scope = StragglerScope::kStage;
  EXPECT_TRUE(Select(candidates, 60, costs).undecided.empty()) << "one stage always takes longest";
}

Costs SavingNothing(int64_t critical_ns) {
  Costs costs = CostsOf(100, critical_ns);
  costs.saving = [](const Idealisation&) { return std::optional(WhatIf{.saving_ratio = 0.0001}); };
  return costs;
}

TEST(SelectStragglers, WhoMuchOfEachStepIsLostToIsFoundEvenIfTheReplaySavesNothing) {
  const Selection selection = Select(100, SavingNothing(600'000));
  ASSERT_EQ(selection.found.size(), 1u);
  EXPECT_EQ(selection.found[0].candidate, 5u);
  EXPECT_FALSE(selection.found[0].what_if);
  EXPECT_TRUE(selection.found[0].contradicted);
}

TEST(SelectStragglers, WithoutASavingLittleThatIsLostToOneDoesNotContradictTheReplay) {
  EXPECT_TRUE(Select(100, SavingNothing(400'000)).found.empty());
}

// Which rank others waited for in reduces and broadcasts is not told: then the replay misses these waits.
TEST(SelectStragglers, WhomOthersMayHaveWaitedForUntoldIsFoundEvenIfTheReplaySavesNothing) {
  Costs costs = SavingNothing(400'000);
  costs.open_ns = [](const Candidate& it) { return it.id == "5" ? 150'000 : 0; };
  const Selection selection = Select(100, costs);
  ASSERT_EQ(selection.found.size(), 1u);
  EXPECT_EQ(selection.found[0].candidate, 5u);
  EXPECT_TRUE(selection.found[0].open);
  EXPECT_FALSE(selection.found[0].what_if || selection.found[0].contradicted);
  costs.open_ns = [](const Candidate&) { return 60'000; };
  EXPECT_TRUE(Select(100, costs).found.empty());
}

TEST(SelectStragglers, TwoThatAreLateAtTheSameTimeAreBothFound) {
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  candidates[6].series = candidates[5].series;
  const Selection selection = Select(candidates, 100, SavingNothing(600'000));
  ASSERT_EQ(selection.found.size(), 2u);
  EXPECT_TRUE(selection.found[0].contradicted && selection.found[1].contradicted);
}

TEST(SelectStragglers, AStageThatSavesNothingIsNotFoundWhateverIsLostToIt) {
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  for (Candidate& candidate : candidates) candidate.scope = StragglerScope::kStage;
  EXPECT_TRUE(Select(candidates, 100, SavingNothing(600'000)).found.empty());
}

// Mending rank 5 saves 3 %, rank 6 alone nothing, and both 5 %.
TEST(SelectStragglers, WhoIsBehindASlowerOneIsToldWhatItSavesAfterThatOne) {
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  candidates[6].series = candidates[5].series;
  for (double& late : candidates[6].series) late *= 0.6;
  Costs costs = CostsOf(100, 200'000);
  costs.saving = [](const Idealisation& ideal) {
    const double of_both = ideal.rank_indices.size() == 2 ? 0.05 : 0.03;
    return std::optional(WhatIf{.saving_ratio = ideal.rank_indices == std::vector<int32_t>{6} ? 0.0001 : of_both});
  };
  const Selection selection = Select(candidates, 100, costs);
  ASSERT_EQ(selection.found.size(), 2u);
  EXPECT_DOUBLE_EQ(selection.found[0].what_if.value().saving_ratio, 0.03);
  EXPECT_FALSE(selection.found[0].after_others);
  EXPECT_DOUBLE_EQ(selection.found[1].what_if.value().saving_ratio, 0.0001);
  EXPECT_NEAR(selection.found[1].after_others.value().saving_ratio, 0.02, 1e-9);
}

// Ranks 5 and 6 hide each other: one alone saves a little or nothing, both save 14 %.
TEST(SelectStragglers, OfTwoThatAreLateTogetherEachIsToldWithWhatItSavesOnceTheOtherIsMended) {
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  candidates[6].series = candidates[5].series;
  Costs costs = CostsOf(100, 200'000);
  for (const double alone : {0.0001, 0.004}) {
    costs.saving = [=](const Idealisation& ideal) {
      return std::optional(WhatIf{.saving_ratio = ideal.rank_indices.size() == 2 ? 0.14 : alone});
    };
    const Selection selection = Select(candidates, 100, costs);
    ASSERT_EQ(selection.found.size(), 2u);
    for (const Selected& found : selection.found) {
      EXPECT_DOUBLE_EQ(found.what_if.value().saving_ratio, alone);
      EXPECT_NEAR(found.after_others.value().saving_ratio, 0.14 - alone, 1e-9);
      EXPECT_FALSE(found.contradicted);
    }
  }
}

TEST(SelectStragglers, AnotherThatIsLateByLittleDoesNotHideWhatOneSaves) {
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  candidates[6].series = candidates[5].series;
  for (double& late : candidates[6].series) late *= 0.2;
  Costs costs = CostsOf(100, 200'000);
  costs.saving = [](const Idealisation& ideal) {
    return std::optional(WhatIf{.saving_ratio = ideal.rank_indices.size() == 2 ? 0.14 : 0.03});
  };
  const Selection selection = Select(candidates, 100, costs);
  ASSERT_FALSE(selection.found.empty());
  EXPECT_EQ(selection.found[0].candidate, 5u);
  EXPECT_FALSE(selection.found[0].after_others);
}

// By nature a little slower than its peers in every step, and once for long: that one event is not told as its usual
// lateness.
TEST(SelectStragglers, WhoIsLateOnceForLongIsNotLateAgainAndAgain) {
  for (const size_t length : {1, 2, 5}) {
    std::vector<Candidate> candidates = EightRanks(4, 100, 1, 60'000);
    for (size_t unit = 40; unit < 40 + length; ++unit) candidates[5].series[unit] = 90'000'000;
    Costs costs = CostsOf(100, 200'000);
    costs.saving = [](const Idealisation&) { return std::optional(WhatIf{.saving_ratio = 0.04}); };
    // A longer stretch is a burst, which is told as such.
    EXPECT_EQ(Select(candidates, 100, costs).found.size(), length < 3 ? 0u : 1u) << length;
  }
}

// Too seldom to be told from chance, and a fact all the same.
TEST(SelectStragglers, WhoStallsTwiceForLongLooksLateButOnceIsNotEnough) {
  std::vector<Candidate> candidates = EightRanks(3, 100, 0, 0);
  Costs costs = CostsOf(100, 200'000);
  costs.saving = [](const Idealisation&) { return std::optional(WhatIf{.saving_ratio = 0.03}); };
  candidates[5].series[40] = 30'000'000;
  EXPECT_TRUE(Select(candidates, 100, costs).undecided.empty());
  candidates[5].series[70] = 30'000'000;
  const Selection selection = Select(candidates, 100, costs);
  EXPECT_TRUE(selection.found.empty());
  ASSERT_EQ(selection.undecided.size(), 1u);
  EXPECT_EQ(selection.undecided[0].candidate, 5u);
}

// In half of the units no number of steps makes it late in most of them, and yet it was late there.
TEST(SelectStragglers, WhoIsSlowInOneHalfOfTheRunIsUndecidedWithItsSaving) {
  std::vector<Candidate> candidates = EightRanks(3, 60, 0, 0);
  for (size_t unit = 0; unit < 30; ++unit) candidates[5].series[unit] += 900'000;
  Costs costs = CostsOf(60, 200'000);
  costs.saving = [](const Idealisation&) { return std::optional(WhatIf{.saving_ratio = 0.05}); };
  const Selection selection = Select(candidates, 60, costs);
  EXPECT_TRUE(selection.found.empty());
  ASSERT_EQ(selection.undecided.size(), 1u);
  EXPECT_EQ(selection.undecided[0].candidate, 5u);
  EXPECT_TRUE(selection.undecided[0].stands_out);
}

// Ranks 4 and 5 share a host that looks late as rank 5 is.
Selection SelectWithHost(double rank_5_saves, double host_saves, size_t units = 100) {
  std::vector<Candidate> candidates = EightRanks(2, units, 0.7, 300'000);
  Candidate host = candidates[5];
  host.scope = StragglerScope::kHost;
  host.rank_indices = {4, 5};
  for (double& late : host.series) late *= 0.9;
  candidates.push_back(host);
  Costs costs = CostsOf(units, 200'000);
  costs.saving = [=](const Idealisation& ideal) {
    return std::optional(WhatIf{.saving_ratio = ideal.rank_indices.size() == 2 ? host_saves : rank_5_saves});
  };
  return Select(candidates, units, costs);
}

TEST(SelectStragglers, WithTooFewStepsTooARankIsToldInsteadOfItsHost) {
  const Selection selection = SelectWithHost(0.03, 0.031, 12);
  EXPECT_TRUE(selection.found.empty());
  ASSERT_EQ(selection.undecided.size(), 1u);
  EXPECT_EQ(selection.undecided[0].candidate, 5u);
}

TEST(SelectStragglers, ARankThatSavesWhatItsHostDoesIsToldInsteadOfTheHost) {
  const Selection selection = SelectWithHost(0.03, 0.031);
  ASSERT_EQ(selection.found.size(), 1u);
  EXPECT_EQ(selection.found[0].candidate, 5u);
}

TEST(SelectStragglers, AHostIsToldWhereMendingOneOfItsRanksDoesNotDoIt) {
  const Selection selection = SelectWithHost(0.004, 0.03);
  ASSERT_EQ(selection.found.size(), 1u);
  EXPECT_EQ(selection.found[0].candidate, 8u);
}

// Ranks 4 and 5, which are equally late, share a host, and four ranks a communicator. A group looks late by `share` of
// that.
Selection SelectWithHostOfTwo(double host_share, double communicator_share) {
  std::vector<Candidate> candidates = EightRanks(2, 100, 0.7, 300'000);
  candidates[4].series = candidates[5].series;
  const auto add_group = [&](StragglerScope scope, std::vector<int32_t> ranks, double share) {
    Candidate group = candidates[5];
    group.scope = scope;
    group.rank_indices = std::move(ranks);
    for (double& late : group.series) late *= share;
    candidates.push_back(group);
  };
  add_group(StragglerScope::kHost, {4, 5}, host_share);
  if (communicator_share > 0) add_group(StragglerScope::kCommunicator, {4, 5, 6, 7}, communicator_share);
  Costs costs = CostsOf(100, 200'000);
  costs.saving = [](const Idealisation& ideal) {
    const size_t ranks = ideal.rank_indices.size();
    return std::optional(WhatIf{.saving_ratio = ranks == 1 ? 0.004 : ranks == 2 ? 0.03 : 0.031});
  };
  return Select(candidates, 100, costs);
}

TEST(SelectStragglers, AHostThatSavesWhatItsCommunicatorDoesIsToldInsteadOfThat) {
  const Selection selection = SelectWithHostOfTwo(0.9, 0.5);
  ASSERT_EQ(selection.found.size(), 1u);
  EXPECT_EQ(selection.found[0].candidate, 8u);
}

TEST(SelectStragglers, AMemberThatIsNoLaterThanTheOthersOfItsHostIsNotToldAgain) {
  const Selection selection = SelectWithHostOfTwo(0.4, 0);
  ASSERT_EQ(selection.found.size(), 1u);
  EXPECT_EQ(selection.found[0].candidate, 8u);
}

TEST(SelectStragglers, WithoutAReplayTooFewStepsAreTold) {
  const Selection selection = Select(12, CostsOf(12, 200'000));
  EXPECT_TRUE(selection.found.empty());
  ASSERT_EQ(selection.undecided.size(), 1u);
  EXPECT_EQ(selection.undecided[0].candidate, 5u);
}

TEST(SelectStragglers, WhomTheReplayedPartDoesNotShowIsToldWithoutASaving) {
  for (const size_t units : {12, 100}) {
    Costs costs = CostsOf(units, 200'000);
    costs.saving = [](const Idealisation&) { return std::optional<WhatIf>(WhatIf{}); };
    EXPECT_TRUE(Select(units, costs).found.empty()) << "saves nothing";
    EXPECT_TRUE(Select(units, costs).undecided.empty()) << "saves nothing";
    const std::vector<Candidate> candidates = EightRanks(2, units, 0.7, 300'000);
    const std::vector<RankOwnTime> own(8);
    const std::vector<Candidate> nobody;
    costs.replayed = ReplayedPart({own, candidates}, {own, nobody});
    const Selection selection = Select(units, costs);
    const std::vector<Selected>& told = units == 12 ? selection.undecided : selection.found;
    ASSERT_EQ(told.size(), 1u) << units;
    EXPECT_EQ(told[0].candidate, 5u);
    EXPECT_FALSE(told[0].what_if);
    EXPECT_FALSE(told[0].shown);
  }
}

}  // namespace
}  // namespace lockstep
