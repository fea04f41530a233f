#include "analysis/metrics/match/order_score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "analysis/stats/order_statistic.h"
#include "tests/support/time_units.h"

namespace lockstep {
namespace {

struct Sequences {
  std::vector<OrderedInstance> a;
  std::vector<OrderedInstance> b;
};

// n instances with irregular gaps; b's clock runs `bias_ns` ahead.
Sequences Irregular(size_t n, unsigned seed, int64_t bias_ns = 0) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t reach) { return std::uniform_int_distribution<int64_t>(0, reach)(random); };
  Sequences out;
  int64_t t = 0;
  for (size_t i = 0; i < n; ++i) {
    t += 60 * kUs + draw(80 * kUs);
    const int64_t sa = t + draw(20 * kUs);
    const int64_t sb = t + draw(20 * kUs);
    const int64_t end = std::max(sa, sb) + 10 * kUs;
    out.a.push_back({sa, end + draw(kUs), true});
    out.b.push_back({sb + bias_ns, end + draw(kUs) + bias_ns, true});
    t = end;
  }
  return out;
}

ShiftVerdict VerdictOn(const Sequences& s) { return FindShift(s.a, s.b, PairRelation::kCommonPoint, 32); }

TEST(FindShift, TheTrueOrderIsFoundWithConfidence) {
  const ShiftVerdict verdict = VerdictOn(Irregular(40, 1));
  EXPECT_EQ(verdict.shift, 0);
  EXPECT_EQ(verdict.common_rate, 1);
  EXPECT_GT(*verdict.exponent, kMinExponent);
}

TEST(FindShift, AnyLossAtTheFrontIsFoundAsAShift) {
  for (int64_t lost = 1; lost <= 12; ++lost) {
    Sequences s = Irregular(40, 2);
    s.a.erase(s.a.begin(), s.a.begin() + lost);
    const ShiftVerdict verdict = VerdictOn(s);
    EXPECT_EQ(verdict.shift, lost);
    EXPECT_EQ(verdict.common_rate, 1);
  }
}

TEST(FindShift, ADeviceBiasOfTenMicrosecondsDoesNotBreakTheCertificate) {
  const ShiftVerdict verdict = VerdictOn(Irregular(40, 3, 14 * kUs));
  EXPECT_EQ(verdict.shift, 0);
  EXPECT_EQ(verdict.common_rate, 1);
  EXPECT_GT(*verdict.exponent, kMinExponent);
}

TEST(FindShift, AnotherClockHasNoCommonPointsButAConstantOffset) {
  const ShiftVerdict verdict = VerdictOn(Irregular(40, 4, 700 * kUs));
  EXPECT_LT(verdict.common_rate, kMinCommonRate);
  EXPECT_TRUE(verdict.constant_offset);
}

TEST(FindShift, ALossInTheMiddleIsNoConstantShift) {
  Sequences s = Irregular(40, 5);
  s.a.erase(s.a.begin() + 20);
  EXPECT_LT(VerdictOn(s).common_rate, kMinCommonRate);
}

TEST(FindShift, SingleInstancesHaveNothingToCompareWith) {
  EXPECT_FALSE(VerdictOn(Irregular(1, 6)).exponent.has_value());
}

// What a shift scores, by the definition: the median distance of the ends around a centre within the clock bias.
std::optional<int64_t> NaiveScore(const Sequences& s, int64_t shift) {
  std::vector<int64_t> ends;
  for (int64_t i = 0; i < static_cast<int64_t>(s.a.size()); ++i) {
    if (i + shift < 0 || i + shift >= static_cast<int64_t>(s.b.size())) continue;
    ends.push_back(s.b[static_cast<size_t>(i + shift)].end_ns - s.a[static_cast<size_t>(i)].end_ns);
  }
  if (ends.size() < (std::min(s.a.size(), s.b.size()) + 1) / 2) return std::nullopt;
  const int64_t centre = std::clamp(UpperMedian(ends), -kMaxClockBiasNs, kMaxClockBiasNs);
  for (int64_t& end : ends) end = std::abs(end - centre);
  return std::max<int64_t>(32, UpperMedian(ends));
}

TEST(FindShift, TheExponentIsThatOfTheBestOfAllNeighbours) {
  for (unsigned seed = 10; seed < 30; ++seed) {
    Sequences s = Irregular(30 + seed, seed, static_cast<int64_t>(seed % 4) * 5 * kUs);
    s.a.erase(s.a.begin(), s.a.begin() + seed % 3);
    const ShiftVerdict verdict = VerdictOn(s);
    int64_t second = INT64_MAX;
    for (const int64_t apart : {-3, -2, -1, 1, 2, 3}) {
      second = std::min(second, NaiveScore(s, verdict.shift + apart).value_or(INT64_MAX));
    }
    const double ratio = static_cast<double>(second) / static_cast<double>(*NaiveScore(s, verdict.shift));
    EXPECT_EQ(verdict.shift, static_cast<int64_t>(seed % 3));
    EXPECT_EQ(verdict.exponent, static_cast<double>(verdict.pairs) * std::log(ratio));
  }
}

TEST(FindSignatureShift, EqualSequencesOfNumberedStepsAreUnique) {
  std::vector<CollectiveRow> rows(30);
  std::vector<const CollectiveRow*> all;
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].step = static_cast<int64_t>(i / 5);
    all.push_back(&rows[i]);
  }
  const SignatureVerdict whole = FindSignatureShift(all, all);
  EXPECT_TRUE(whole.agrees && whole.unique);
  EXPECT_EQ(whole.shift, 0);
  const SignatureVerdict late = FindSignatureShift({all.begin() + 10, all.end()}, all);
  EXPECT_TRUE(late.agrees && late.unique);
  EXPECT_EQ(late.shift, 10);
}

TEST(FindSignatureShift, RepetitionWithoutStepsIsNotUnique) {
  std::vector<CollectiveRow> rows(30);
  std::vector<const CollectiveRow*> all;
  for (const CollectiveRow& row : rows) all.push_back(&row);
  const SignatureVerdict verdict = FindSignatureShift(all, all);
  EXPECT_TRUE(verdict.agrees);
  EXPECT_FALSE(verdict.unique);
}

}  // namespace
}  // namespace lockstep
