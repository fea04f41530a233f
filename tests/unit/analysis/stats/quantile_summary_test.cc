#include "analysis/stats/quantile_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace lockstep {
namespace {

using testing::HasSubstr;

// Values of a skewed distribution, the same on every machine.
Sketch SkewedSketch(int64_t count, int64_t distinct, bool forget = false) {
  Sketch sketch;
  uint64_t state = static_cast<uint64_t>(count * 31 + distinct);
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    const auto place = static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(distinct));
    sketch.Add(place * place);
  }
  if (forget) sketch.ForgetExact();
  return sketch;
}

void ExpectSays(const QuantileSummary& summary, const Sketch& sketch) {
  EXPECT_EQ(summary.empty(), sketch.empty());
  EXPECT_EQ(summary.exact(), sketch.exact());
  EXPECT_EQ(summary.count(), sketch.count());
  EXPECT_EQ(summary.sum(), sketch.sum());
  EXPECT_EQ(summary.min(), sketch.min());
  EXPECT_EQ(summary.max(), sketch.max());
  EXPECT_EQ(summary.mean(), sketch.mean());
  EXPECT_EQ(summary.stddev(), sketch.stddev());
  EXPECT_EQ(summary.Median(), sketch.Median());
  for (const double q : QuantileSummary::kLevels) {
    const auto got = summary.Quantile(q);
    const auto want = sketch.Quantile(q);
    ASSERT_EQ(got.has_value(), want.has_value()) << q;
    if (!want.has_value()) continue;
    EXPECT_EQ(got->value, want->value) << q;
    EXPECT_EQ(got->lower, want->lower) << q;
    EXPECT_EQ(got->upper, want->upper) << q;
    EXPECT_EQ(got->exact, want->exact) << q;
  }
}

std::vector<Sketch> ManySketches() {
  std::vector<Sketch> sketches;
  for (const int64_t count : {1, 2, 3, 4, 5, 9, 10, 19, 20, 21, 99, 100, 101, 999, 1'000, 1'001, 5'000}) {
    for (const int64_t distinct : {1, 2, 7, 300, 100'000}) {
      sketches.push_back(SkewedSketch(count, distinct));
      sketches.push_back(SkewedSketch(count, distinct, true));
    }
  }
  Sketch zeros;
  zeros.Add(0, 3);
  sketches.push_back(zeros);
  zeros.Add(INT64_MAX);
  sketches.push_back(zeros);
  zeros.ForgetExact();
  sketches.push_back(zeros);
  return sketches;
}

TEST(QuantileSummary, SaysWhatTheSketchSays) {
  for (const Sketch& sketch : ManySketches()) {
    SCOPED_TRACE(testing::Message() << sketch.count() << " values, exact " << sketch.exact());
    ExpectSays(QuantileSummary(sketch), sketch);
  }
}

TEST(QuantileSummary, OfNothingIsEmpty) {
  const Sketch none;
  const QuantileSummary summary(none);
  ExpectSays(summary, none);
  EXPECT_TRUE(summary == QuantileSummary());
}

TEST(QuantileSummary, ComesBackFromItsFacts) {
  for (const Sketch& sketch : ManySketches()) {
    const QuantileSummary summary(sketch);
    const auto back = QuantileSummary::FromFacts(summary.facts());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(*back == summary);
  }
}

TEST(QuantileSummary, ADifferenceInAnyFactIsNoEquality) {
  const QuantileSummary summary(SkewedSketch(500, 300));
  Sketch other = SkewedSketch(500, 300);
  other.Add(5);
  EXPECT_FALSE(summary == QuantileSummary(other));
}

template <typename Change>
void ExpectRefused(const Sketch& sketch, Change change, const std::string& words) {
  QuantileSummary::Facts facts = QuantileSummary(sketch).facts();
  change(facts);
  const auto made = QuantileSummary::FromFacts(facts);
  ASSERT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument) << words;
  EXPECT_THAT(std::string(made.status().message()), HasSubstr(words));
}

TEST(QuantileSummary, FactsThatNoValuesHaveAreRefused) {
  using Facts = QuantileSummary::Facts;
  const Sketch exact = SkewedSketch(500, 300);
  ExpectRefused(
      exact, [](Facts& f) { f.count = 0; }, "count 0");
  ExpectRefused(
      exact, [](Facts& f) { f.count = (int64_t{1} << 40) + 1; }, "count");
  ExpectRefused(
      exact, [](Facts& f) { f.sum = -1; }, "sum -1");
  ExpectRefused(
      exact, [](Facts& f) { f.stddev = -1; }, "standard deviation");
  ExpectRefused(
      exact, [](Facts& f) { f.stddev = std::nan(""); }, "standard deviation");
  ExpectRefused(
      exact, [](Facts& f) { f.stddev = std::numeric_limits<double>::infinity(); }, "standard deviation");
  ExpectRefused(
      exact, [](Facts& f) { f.values.pop_back(); }, "7 values, expected 8");
  ExpectRefused(
      exact, [](Facts& f) { f.values.clear(); }, "0 values, expected 8");
  ExpectRefused(
      exact, [](Facts& f) { f.values[3] = f.values[1] - 1; }, "not ascending");
  ExpectRefused(
      exact, [](Facts& f) { f.values[0] = -1; }, "not ascending from 0");
}

TEST(QuantileSummary, BucketsThatNoValuesHaveAreRefused) {
  using Facts = QuantileSummary::Facts;
  const Sketch histogram = SkewedSketch(5'000, 100'000);
  ASSERT_FALSE(histogram.exact());
  ExpectRefused(
      histogram, [](Facts& f) { f.buckets.pop_back(); }, "4 buckets");
  ExpectRefused(
      histogram, [](Facts& f) { f.buckets.clear(); }, "2 values, expected 8");
  ExpectRefused(
      histogram, [](Facts& f) { f.values.insert(f.values.begin(), 0); }, "3 values, expected 2");
  ExpectRefused(
      histogram, [](Facts& f) { std::swap(f.buckets[0], f.buckets[4]); }, "not ascending");
  ExpectRefused(
      histogram, [](Facts& f) { ++(f.buckets[4] = BucketIndex(f.values[1])); }, "between the extremes");
  ExpectRefused(
      histogram,
      [](Facts& f) {
        f.values[0] = 0;
        f.buckets[0] = static_cast<int16_t>(BucketIndex(1) + 1);  // between 1 and 2 ns
      },
      "no integer");
}

}  // namespace
}  // namespace lockstep
