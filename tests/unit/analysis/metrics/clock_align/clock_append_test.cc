#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "analysis/metrics/clock_align/clock_model.h"
#include "tests/support/time_units.h"

namespace lockstep {
namespace {

const std::vector<bool> kBoth = {true, true};

// Ranks 0 and 1 on domains of their own; the second domain's offset runs through the knots.
ClockModel Model(const std::vector<std::pair<int64_t, int64_t>>& knots, bool connected = true) {
  ClockModel model;
  model.SetDomain(0, DomainId{0});
  model.SetDomain(1, DomainId{1});
  DomainClock reference;
  reference.method = ClockMethod::kShared;
  DomainClock other;
  other.method = connected ? ClockMethod::kBand : ClockMethod::kNone;
  other.component = connected ? 0 : 1;
  other.certified = connected;
  other.instances = connected ? 10 : 0;
  for (const auto& [t, offset] : knots) {
    reference.knots.push_back({t - offset, 0, 0, 0, 0});
    other.knots.push_back({t, offset, offset - 100, offset + 100, 50});
  }
  if (!knots.empty()) model.SetDomainPair(DomainId{0}, DomainId{1}, {{INT64_MIN, 98}});
  model.SetDomainClock(DomainId{0}, reference);
  model.SetDomainClock(DomainId{1}, other);
  return model;
}

TEST(ClockAppend, EachStretchKeepsItsOwnOffsets) {
  ClockModel model = Model({{1'000 * kMs, 5 * kMs}, {2'000 * kMs, 6 * kMs}});
  model.Append(Model({{2'000 * kMs, 8 * kMs}, {3'000 * kMs, 10 * kMs}}), AlignedTime{2'000 * kMs}, kBoth);
  EXPECT_EQ(model.Correction(1, LocalTime{1'500 * kMs}).ns, 5 * kMs + kMs / 2);
  EXPECT_EQ(model.Correction(1, LocalTime{2'500 * kMs}).ns, 9 * kMs);
  EXPECT_EQ(model.Correction(0, LocalTime{2'500 * kMs}).ns, 0);
  EXPECT_EQ(model.ClockOf(DomainId{1}).instances, 20);
  EXPECT_TRUE(model.ClockOf(DomainId{1}).certified);
}

TEST(ClockAppend, AStretchFromTheBeginningTakesThePlaceOfWhatWasKnown) {
  ClockModel model = Model({{1'000 * kMs, 50 * kMs}, {2'000 * kMs, 50 * kMs}});
  model.Append(Model({{1'000 * kMs, 5 * kMs}, {2'000 * kMs, 5 * kMs}}), AlignedTime{INT64_MIN / 2}, kBoth);
  EXPECT_EQ(model.Correction(1, LocalTime{900 * kMs}).ns, 5 * kMs);
  EXPECT_EQ(model.ClockOf(DomainId{1}).knots.size(), 2u);
}

TEST(ClockAppend, WhatConnectsLaterHoldsForTheTimeBefore) {
  ClockModel model = Model({}, false);
  EXPECT_NE(model.ComponentOf(0), model.ComponentOf(1));
  model.Append(Model({{2'000 * kMs, 7 * kMs}, {3'000 * kMs, 7 * kMs}}), AlignedTime{2'000 * kMs}, kBoth);
  EXPECT_EQ(model.ComponentOf(0), model.ComponentOf(1));
  EXPECT_EQ(model.Correction(1, LocalTime{100 * kMs}).ns, 7 * kMs);
}

TEST(ClockAppend, AClockGoesOnAsItWentWhereNothingIsShared) {
  ClockModel model = Model({{1'000 * kMs, 5 * kMs}, {2'000 * kMs, 6 * kMs}});
  model.Append(Model({}, false), AlignedTime{2'000 * kMs}, kBoth);
  EXPECT_EQ(model.ComponentOf(0), model.ComponentOf(1));
  EXPECT_EQ(model.Correction(1, LocalTime{3'000 * kMs}).ns, 7 * kMs);
}

TEST(ClockAppend, WhatIsMovedStaysWhereItStoodHoweverManyStretchesFollow) {
  ClockModel model = Model({{1'000 * kMs, 50 * kMs}, {2'000 * kMs, 50 * kMs}});
  for (int64_t from = 2'000; from < 5'000; from += 1'000) {
    ClockModel later = Model({}, false);
    later.MoveComponent(later.ComponentOf(1), model.OffsetOf(DomainId{1}, LocalTime{from * kMs}).ns);
    EXPECT_EQ(later.Correction(1, LocalTime{(from + 500) * kMs}).ns, 50 * kMs);
    model.Append(later, AlignedTime{from * kMs}, kBoth);
    EXPECT_EQ(model.Correction(1, LocalTime{(from + 500) * kMs}).ns, 50 * kMs);
    EXPECT_EQ(model.Correction(0, LocalTime{(from + 500) * kMs}).ns, 0);
  }
}

TEST(ClockAppend, UncertaintyAndBiasesHoldFromWhereTheyBegin) {
  ClockModel model = Model({{1'000 * kMs, 0}, {2'000 * kMs, 0}});
  ClockModel later = Model({{2'000 * kMs, 0}, {3'000 * kMs, 0}});
  later.SetDomainPair(DomainId{0}, DomainId{1}, {{INT64_MIN, 500}});
  later.AddBias(1, 300);
  model.Append(later, AlignedTime{2'000 * kMs}, kBoth);
  EXPECT_EQ(model.ClockUncertainty(0, 1, AlignedTime{1'500 * kMs})->ns, 98);
  EXPECT_EQ(model.ClockUncertainty(0, 1, AlignedTime{2'500 * kMs})->ns, 500);
  EXPECT_EQ(model.Correction(1, LocalTime{1'500 * kMs}).ns, 0);
  EXPECT_EQ(model.Correction(1, LocalTime{2'500 * kMs}).ns, 300);
}

TEST(ClockAppend, ADeviceThatAStretchHasNothingOfKeepsItsBias) {
  ClockModel model = Model({{1'000 * kMs, 0}, {2'000 * kMs, 0}});
  model.AddBias(1, 300);
  model.Append(Model({}, false), AlignedTime{INT64_MIN / 2}, {true, false});
  EXPECT_EQ(model.BiasOf(1, LocalTime{2'500 * kMs}), 300);
}

// Ranks 0 and 1 share a host, 2 and 3 are on two others.
ClockModel OfThreeHosts(int64_t seed) {
  ClockModel model;
  for (int32_t r = 0; r < 4; ++r) model.SetDomain(r, DomainId{std::max(0, r - 1)});
  for (int32_t d = 0; d < 3; ++d) {
    DomainClock clock;
    clock.component = d == 0 ? 0 : 1;
    clock.knots.push_back({1'000 * kMs, seed + d, 0, 0, 0});
    model.SetDomainClock(DomainId{d}, clock);
  }
  for (int32_t r = 0; r < 4; ++r) model.AddBias(r, seed + 10 + r);
  model.SetBiasDoubt(0, 3'000 + seed);
  model.SetPair(0, 1, 1'000 + seed, 10);
  model.SetDomainPair(DomainId{1}, DomainId{2}, {{INT64_MIN, 2'000 + seed}});
  return model;
}

TEST(ClockTakeOver, TakesAllOfSomeRanksAndNothingOfTheOthers) {
  const ClockModel other = OfThreeHosts(100);
  ClockModel first = OfThreeHosts(0);
  first.TakeOver(other, {0, 1});
  for (const int32_t r : {0, 1}) {
    EXPECT_EQ(first.Correction(r, LocalTime{0}).ns, other.Correction(r, LocalTime{0}).ns);
  }
  EXPECT_EQ(first.Correction(2, LocalTime{0}).ns, OfThreeHosts(0).Correction(2, LocalTime{0}).ns);
  EXPECT_EQ(first.PairUncertainty(0, 1)->ns, other.PairUncertainty(0, 1)->ns);
  EXPECT_EQ(first.ClockUncertainty(2, 3)->ns, 2'000);
  EXPECT_EQ(first.BiasDoubtOf(0), 3'100);

  ClockModel last = OfThreeHosts(0);
  last.TakeOver(other, {2, 3});
  EXPECT_EQ(last.Correction(0, LocalTime{0}).ns, OfThreeHosts(0).Correction(0, LocalTime{0}).ns);
  EXPECT_EQ(last.Correction(3, LocalTime{0}).ns, other.Correction(3, LocalTime{0}).ns);
  EXPECT_EQ(last.ClockUncertainty(2, 3)->ns, 2'100);
  EXPECT_EQ(last.BiasDoubtOf(0), 3'000);
}

}  // namespace
}  // namespace lockstep
