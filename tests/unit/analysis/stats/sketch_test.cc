#include "analysis/stats/sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <tuple>

#include "analysis/stats/sketch_feed.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxSane = int64_t{1} << 46;  // ns: 19 hours

// Durations of several magnitudes, some of them zero.
std::vector<int64_t> RandomValues(uint64_t seed, size_t n, int64_t spread) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> out(n);
  for (int64_t& v : out) {
    const auto magnitude = static_cast<int64_t>(random() % 7);
    v = static_cast<int64_t>(random() % static_cast<uint64_t>(spread)) * (magnitude == 0 ? 0 : int64_t{1} << magnitude);
  }
  return out;
}

Sketch SketchOf(const std::vector<int64_t>& values) {
  Sketch out;
  for (const int64_t v : values) out.Add(v);
  return out;
}

int64_t NaiveOrderStatistic(std::vector<int64_t> values, size_t k) {
  std::sort(values.begin(), values.end());
  return values[k - 1];
}

size_t Distinct(const std::vector<int64_t>& values) { return std::set<int64_t>(values.begin(), values.end()).size(); }

std::string Encoded(const Sketch& sketch) {
  std::string out;
  sketch.EncodeTo(out);
  return out;
}

TEST(Sketch, CountsSumsAndExtremesAreExactBeyondTheExactForm) {
  const std::vector<int64_t> values = RandomValues(1, 20'000, 1'000'000);
  ASSERT_GT(Distinct(values), Sketch::kMaxDistinct);
  const Sketch sketch = SketchOf(values);
  int64_t sum = 0;
  uint128 squares = 0;
  for (const int64_t v : values) {
    sum += v;
    squares += static_cast<uint128>(v) * static_cast<uint128>(v);
  }
  EXPECT_FALSE(sketch.exact());
  EXPECT_EQ(sketch.count(), 20'000);
  EXPECT_EQ(sketch.sum(), sum);
  EXPECT_TRUE(sketch.sum_of_squares() == squares);
  EXPECT_EQ(sketch.min(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(sketch.max(), *std::max_element(values.begin(), values.end()));
}

TEST(Sketch, StaysExactWithAThousandAndTwentyFourDistinctValues) {
  Sketch sketch;
  for (int64_t v = 0; v < 1024; ++v) sketch.Add(v * 3, 7);
  EXPECT_TRUE(sketch.exact());
  EXPECT_EQ(sketch.distinct(), 1024U);
}

TEST(Sketch, ConvertsWithOneDistinctValueMore) {
  Sketch sketch;
  for (int64_t v = 0; v < 1025; ++v) sketch.Add(v * 3);
  EXPECT_FALSE(sketch.exact());
  EXPECT_TRUE(sketch.values().empty());
}

TEST(Sketch, OrderStatisticsOfTheExactFormAreThoseOfTheValues) {
  const std::vector<int64_t> values = RandomValues(2, 3'000, 100);
  const Sketch sketch = SketchOf(values);
  ASSERT_TRUE(sketch.exact());
  for (size_t k = 1; k <= values.size(); k += 37) {
    ASSERT_EQ(sketch.OrderStatistic(static_cast<int64_t>(k)).value, NaiveOrderStatistic(values, k)) << k;
  }
}

TEST(Sketch, HistogramBoundsHoldTheTrueOrderStatistic) {
  const std::vector<int64_t> values = RandomValues(3, 30'000, 10'000'000);
  const Sketch sketch = SketchOf(values);
  ASSERT_FALSE(sketch.exact());
  std::vector<int64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 1; k <= sorted.size(); k += 113) {
    const QuantileEstimate e = sketch.OrderStatistic(static_cast<int64_t>(k));
    ASSERT_LE(e.lower, sorted[k - 1]);
    ASSERT_LE(sorted[k - 1], e.upper);
    ASSERT_LE(e.lower, e.value);
    ASSERT_LE(e.value, e.upper);
    ASSERT_FALSE(e.exact);
  }
}

TEST(Sketch, HistogramValueErrsByAtMostHalfAPercentAndRounding) {
  const std::vector<int64_t> values = RandomValues(4, 30'000, 10'000'000);
  const Sketch sketch = SketchOf(values);
  std::vector<int64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  for (size_t k = 1; k <= sorted.size(); k += 113) {
    const auto truth = static_cast<double>(sorted[k - 1]);
    const auto found = static_cast<double>(sketch.OrderStatistic(static_cast<int64_t>(k)).value);
    ASSERT_LE(std::abs(found - truth), 0.00542 * truth + 0.5);
  }
}

TEST(Sketch, ExtremeOrderStatisticsOfAHistogramAreClampedToTheExtremes) {
  Sketch sketch;
  for (int64_t v = 0; v < 2'000; ++v) sketch.Add(1'000'003 + v);
  EXPECT_EQ(sketch.OrderStatistic(1).lower, 1'000'003);
  EXPECT_EQ(sketch.OrderStatistic(2'000).upper, 1'002'002);
}

TEST(Sketch, QuantilesAreNullBelowTheirSampleSize) {
  const std::vector<std::pair<double, int64_t>> needed = {{0.5, 2}, {0.9, 10}, {0.95, 20}, {0.99, 100}, {0.999, 1000}};
  for (const auto& [q, n] : needed) {
    Sketch sketch;
    sketch.Add(5, n - 1);
    EXPECT_FALSE(sketch.Quantile(q).has_value()) << q;
    sketch.Add(5);
    EXPECT_TRUE(sketch.Quantile(q).has_value()) << q;
  }
}

TEST(Sketch, QuantileIsTheOrderStatisticOfTheCeiling) {
  Sketch sketch;
  for (int64_t v = 1; v <= 1000; ++v) sketch.Add(v);
  EXPECT_EQ(sketch.Quantile(0.5)->value, 500);
  EXPECT_EQ(sketch.Quantile(0.9)->value, 900);  // 0.9 * 1000 is more than 900 in binary
  EXPECT_EQ(sketch.Quantile(0.999)->value, 999);
  sketch.Add(1001);
  EXPECT_EQ(sketch.Quantile(0.5)->value, 501);
  EXPECT_EQ(sketch.Quantile(0.99)->value, 991);
}

TEST(Sketch, OfNothingHasNoQuantilesAndNoMedian) {
  const Sketch sketch;
  EXPECT_TRUE(sketch.empty());
  EXPECT_FALSE(sketch.Quantile(0.5).has_value());
  EXPECT_FALSE(sketch.Median().has_value());
  EXPECT_EQ(sketch.stddev(), 0);
}

TEST(Sketch, MedianIsTheMeanOfTheTwoMiddles) {
  EXPECT_EQ(SketchOf({1, 2, 4, 100}).Median(), 3.0);
  EXPECT_EQ(SketchOf({1, 2, 100}).Median(), 2.0);
  EXPECT_EQ(SketchOf({3, 4}).Median(), 3.5);
}

TEST(Sketch, MedianOfAHistogramIsUnknown) {
  Sketch sketch = SketchOf({1, 2, 4});
  sketch.ForgetExact();
  EXPECT_FALSE(sketch.Median().has_value());
}

TEST(Sketch, StandardDeviationIsThatOfTheSample) {
  EXPECT_DOUBLE_EQ(SketchOf({2, 4, 4, 4, 5, 5, 7, 9}).stddev(), std::sqrt(32.0 / 7.0));
  EXPECT_EQ(SketchOf({42}).stddev(), 0);
}

TEST(Sketch, StandardDeviationSurvivesALargeMean) {
  Sketch sketch;  // squares near 2^110: in doubles the difference of two such sums would be noise
  for (const int64_t v : {-1, 0, 1}) sketch.Add((int64_t{1} << 55) + v, 1'000);
  EXPECT_NEAR(sketch.stddev(), std::sqrt(2'000.0 / 2'999.0), 1e-12);
}

TEST(Sketch, SumBeyondSixtyFourBitsIsToldAndTheMeanStaysRight) {
  Sketch sketch;
  sketch.Add(int64_t{1} << 61, 3);
  EXPECT_TRUE(sketch.sum_fits());
  sketch.Add(int64_t{1} << 61, 5);
  EXPECT_FALSE(sketch.sum_fits());
  EXPECT_EQ(sketch.sum(), INT64_MAX);
  EXPECT_EQ(sketch.mean(), std::ldexp(1.0, 61));
}

TEST(Sketch, TotalsStopInsteadOfWrapping) {
  Sketch sketch;
  for (int i = 0; i < 4; ++i) sketch.Add(INT64_MAX, INT64_MAX);
  EXPECT_EQ(sketch.count(), INT64_MAX);
  EXPECT_TRUE(sketch.sum_of_squares() == ~uint128{0});
  EXPECT_EQ(sketch.OrderStatistic(INT64_MAX).value, INT64_MAX);
  EXPECT_EQ(sketch.ExcessOver(1, 0).value, INT64_MAX);
  EXPECT_GE(sketch.stddev(), 0);
}

// --- Merging

Sketch MergedInRandomOrder(const std::vector<int64_t>& values, uint64_t seed, size_t parts) {
  std::mt19937_64 random(seed);
  std::vector<Sketch> sketches(parts);
  for (const int64_t v : values) sketches[random() % parts].Add(v);
  while (sketches.size() > 1) {
    const size_t from = random() % sketches.size();
    const Sketch taken = sketches[from];
    sketches.erase(sketches.begin() + static_cast<std::ptrdiff_t>(from));
    sketches[random() % sketches.size()].Merge(taken);
  }
  return sketches.front();
}

TEST(Sketch, MergingDependsOnTheUnionAlone) {
  for (const int64_t spread : {20, 150, 400, 100'000}) {  // below, near and above the limit of distinct values
    const std::vector<int64_t> values = RandomValues(static_cast<uint64_t>(spread), 4'000, spread);
    const Sketch whole = SketchOf(values);
    EXPECT_EQ(whole.exact(), Distinct(values) <= Sketch::kMaxDistinct);
    for (uint64_t seed = 0; seed < 12; ++seed) {
      ASSERT_EQ(MergedInRandomOrder(values, seed, 1 + seed * 3), whole) << spread << " " << seed;
    }
  }
}

// Where a histogram is most easily wrong: at the ends of buckets, far apart, and few values many times.
std::vector<int64_t> AdversarialValues(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> values = {0, 1, kMaxSane - 1, kMaxSane};
  const auto near_an_end = [&] {
    const int64_t upper = BoundsOf(BucketIndex(1 + static_cast<int64_t>(random() % kMaxSane))).upper;
    return std::clamp<int64_t>(upper + static_cast<int64_t>(random() % 3) - 1, 0, kMaxSane);
  };
  const size_t distinct = 1 + random() % 3'000;
  while (values.size() < distinct) values.push_back(near_an_end());
  for (size_t i = random() % 2'000; i > 0; --i) values.push_back(values[random() % std::min<size_t>(distinct, 9)]);
  for (size_t i = random() % 200; i > 0; --i) values.push_back(int64_t{1} << (random() % 46));
  return values;
}

TEST(Sketch, QuantilesMergedInAnyOrderContainTheExactOnes) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<int64_t> values = AdversarialValues(seed);
    const Sketch merged = MergedInRandomOrder(values, seed, 1 + seed);
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    for (const auto& [q, part, whole] :
         {std::tuple{0.5, 1u, 2u}, {0.9, 9u, 10u}, {0.99, 99u, 100u}, {0.999, 999u, 1000u}}) {
      const auto estimate = merged.Quantile(q);
      ASSERT_EQ(estimate.has_value(), n * (whole - part) >= whole) << seed << " " << q;
      if (!estimate) continue;
      const int64_t exact = values[(n * part + whole - 1) / whole - 1];
      ASSERT_LE(estimate->lower, exact) << seed << " " << q;
      ASSERT_LE(exact, estimate->upper) << seed << " " << q;
      ASSERT_EQ(estimate->exact, merged.exact());
    }
  }
}

TEST(Sketch, MergingTwoExactSketchesConvertsOnlyWhenTheUnionIsTooWide) {
  Sketch low, same, high;
  for (int64_t v = 0; v < 700; ++v) {
    low.Add(v);
    same.Add(v, 2);
    high.Add(10'000 + v);
  }
  same.Merge(low);
  EXPECT_TRUE(same.exact());
  EXPECT_EQ(same.distinct(), 700U);
  low.Merge(high);
  EXPECT_FALSE(low.exact());
}

TEST(Sketch, OfSortedIsWhatAddingOneByOneGives) {
  std::mt19937_64 random(5);
  for (const size_t distinct : {1, 3, 1'024, 1'025, 5'000}) {
    std::vector<int64_t> values(2 * distinct);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<int64_t>((i % distinct) * (random() % 2 + 1) * 97);
    Sketch added;
    for (const int64_t value : values) added.Add(value);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(Encoded(Sketch::OfSorted(values)), Encoded(added)) << distinct;
    Sketch merged = Sketch::OfSorted(std::span(values).first(distinct));
    merged.Merge(Sketch::OfSorted(std::span(values).subspan(distinct)));
    EXPECT_EQ(Encoded(merged), Encoded(added)) << distinct;
  }
  EXPECT_EQ(Encoded(Sketch::OfSorted({})), Encoded(Sketch()));
}

TEST(Sketch, AddAllIsWhatAddingOneByOneGives) {
  std::mt19937_64 random(6);
  for (const int bits : {1, 5, 9, 11, 30, 63}) {
    for (const size_t count : {0, 1, 127, 128, 129, 3'000}) {
      Sketch added;
      Sketch at_once;
      for (int round = 0; round < 3; ++round) {
        std::vector<int64_t> values(count);
        for (int64_t& value : values) value = static_cast<int64_t>(random() >> (64 - bits));
        for (const int64_t value : values) added.Add(value);
        at_once.AddAll(values);
        EXPECT_EQ(at_once, added) << bits << " bits, " << count << " values, round " << round;
      }
    }
  }
}

TEST(Sketch, AddAllIsTheSameWithZerosAndBucketsFarApart) {
  std::mt19937_64 random(7);
  for (const int octaves : {1, 8, 15, 17, 60}) {
    for (const int zero_one_in : {1, 3, 1'000'000}) {
      Sketch added;
      Sketch at_once;
      added.ForgetExact();
      at_once.ForgetExact();
      for (int round = 0; round < 5; ++round) {
        std::vector<int64_t> values(200);
        for (int64_t& value : values) {
          const bool is_zero = random() % static_cast<uint64_t>(zero_one_in) == 0;
          value = is_zero ? 0 : static_cast<int64_t>(random() >> (2 + random() % static_cast<uint64_t>(octaves)));
        }
        for (const int64_t value : values) added.Add(value);
        at_once.AddAll(values);
        EXPECT_EQ(at_once, added) << octaves << " octaves, zeros one in " << zero_one_in << ", round " << round;
      }
    }
  }
}

TEST(Sketch, AddAllStopsWhereSumsDoNotFit) {
  const std::vector<int64_t> values(5'000, INT64_MAX);
  Sketch added;
  for (const int64_t value : values) added.Add(value);
  Sketch at_once;
  at_once.AddAll(values);
  EXPECT_EQ(at_once, added);
}

TEST(SketchFeed, TheSketchHasEverythingAfterAFlush) {
  SketchFeed feed;
  Sketch fed;
  Sketch added;
  for (int64_t value = 0; value < 2'000; ++value) {
    feed.Add(value * 37 % 1'500, fed);
    added.Add(value * 37 % 1'500);
  }
  EXPECT_LT(fed.count(), added.count());
  feed.Flush(fed);
  EXPECT_EQ(fed, added);
  EXPECT_TRUE(feed.empty());
}

TEST(Sketch, MergingWithItselfDoubles) {
  Sketch sketch = SketchOf({1, 2, 2});
  sketch.Merge(sketch);
  EXPECT_EQ(sketch, SketchOf({1, 1, 2, 2, 2, 2}));
}

TEST(Sketch, MergingWithNothingChangesNothing) {
  const Sketch sketch = SketchOf({7, 9});
  Sketch left = sketch;
  left.Merge(Sketch());
  Sketch right;
  right.Merge(sketch);
  EXPECT_EQ(left, sketch);
  EXPECT_EQ(right, sketch);
}

// --- Tails

TEST(Sketch, ExcessIsTheSumAboveTheThreshold) {
  const Sketch sketch = SketchOf({10, 20, 20, 21, 50});
  const Sketch::Excess excess = sketch.ExcessOver(20, 10);
  EXPECT_EQ(excess.value, 11 + 40);
  EXPECT_EQ(excess.lower, excess.value);
  EXPECT_EQ(excess.upper, excess.value);
}

TEST(Sketch, ExcessOfAHistogramIsBounded) {
  const std::vector<int64_t> values = RandomValues(5, 20'000, 1'000'000);
  const Sketch sketch = SketchOf(values);
  for (const int64_t threshold : {0, 1'000, 500'000, 20'000'000, 63'000'000}) {
    int64_t truth = 0;
    for (const int64_t v : values) truth += v > threshold ? v - threshold / 2 : 0;
    const Sketch::Excess excess = sketch.ExcessOver(threshold, threshold / 2);
    ASSERT_LE(excess.lower, truth) << threshold;
    ASSERT_LE(truth, excess.upper) << threshold;
    ASSERT_LE(excess.lower, excess.value) << threshold;
    ASSERT_LE(excess.value, excess.upper) << threshold;
  }
}

TEST(Sketch, CountAboveABucketIsTheSameInBothForms) {
  const std::vector<int64_t> values = RandomValues(6, 900, 100'000);
  const Sketch exact = SketchOf(values);
  Sketch histogram = exact;
  histogram.ForgetExact();
  for (const int64_t v : {int64_t{0}, int64_t{1}, int64_t{50'000}, int64_t{2'000'000}, INT64_MAX}) {
    const int16_t index = BucketIndex(v);
    const auto truth =
        std::count_if(values.begin(), values.end(), [index](int64_t x) { return BucketIndex(x) > index; });
    EXPECT_EQ(exact.CountAboveBucketOf(v), truth);
    EXPECT_EQ(histogram.CountAboveBucketOf(v), truth);
  }
}

// --- Encoding

TEST(SketchCodec, BringsBackEverySketch) {
  Sketch forgotten;
  forgotten.ForgetExact();
  Sketch huge;
  huge.Add(INT64_MAX, 1'000);
  huge.ForgetExact();
  for (const Sketch& sketch : {Sketch(), forgotten, huge, SketchOf({0}), SketchOf(RandomValues(7, 500, 1'000'000)),
                               SketchOf(RandomValues(8, 9'000, 1'000'000))}) {
    const auto back = Sketch::Decode(Encoded(sketch));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, sketch);
  }
}

TEST(SketchCodec, EqualSketchesHaveEqualBytes) {
  std::vector<int64_t> values = RandomValues(9, 5'000, 100'000);
  const std::string forward = Encoded(SketchOf(values));
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(Encoded(SketchOf(values)), forward);
}

TEST(SketchCodec, StaysSmall) {
  std::mt19937_64 random(10);
  std::lognormal_distribution<double> duration(std::log(50'000.0), 0.1);
  Sketch sketch;
  for (int i = 0; i < 48'600; ++i) sketch.Add(static_cast<int64_t>(duration(random)));
  ASSERT_FALSE(sketch.exact());
  EXPECT_LE(Encoded(sketch).size(), 300U);
}

TEST(SketchCodec, RefusesEveryTruncation) {
  for (const size_t n : {size_t{300}, size_t{5'000}}) {
    const std::string bytes = Encoded(SketchOf(RandomValues(11, n, 1'000'000)));
    for (size_t length = 0; length < bytes.size(); ++length) {
      ASSERT_FALSE(Sketch::Decode(std::string_view(bytes).substr(0, length)).ok()) << length;
    }
    EXPECT_FALSE(Sketch::Decode(bytes + '\0').ok());
  }
}

TEST(SketchCodec, DamageIsRefusedOrGivesAConsistentSketch) {
  std::mt19937_64 random(12);
  for (const size_t n : {size_t{40}, size_t{4'000}}) {
    const std::string bytes = Encoded(SketchOf(RandomValues(13, n, 1'000'000)));
    for (int i = 0; i < 4'000; ++i) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      const auto sketch = Sketch::Decode(damaged);
      if (!sketch.ok()) continue;
      ASSERT_EQ(Encoded(*sketch), damaged);  // one encoding for each sketch
      if (sketch->empty()) continue;
      ASSERT_LE(sketch->min(), sketch->OrderStatistic(1).value);
      ASSERT_GE(sketch->max(), sketch->OrderStatistic(sketch->count()).value);
      ASSERT_TRUE(std::isfinite(sketch->stddev()));
    }
  }
}

TEST(SketchCodec, RefusesAnotherVersionByName) {
  std::string bytes = Encoded(SketchOf({1}));
  bytes[0] = 9;
  const auto sketch = Sketch::Decode(bytes);
  ASSERT_FALSE(sketch.ok());
  EXPECT_NE(std::string(sketch.status().message()).find("version 9"), std::string::npos);
}

TEST(SketchCodec, RefusesCountsBeyondTheLimit) {
  Sketch sketch;
  sketch.Add(5, Sketch::kMaxDecodedCount);
  EXPECT_TRUE(Sketch::Decode(Encoded(sketch)).ok());
  sketch.Add(5);
  EXPECT_FALSE(Sketch::Decode(Encoded(sketch)).ok());
}

TEST(SketchCodec, RefusesASumThatTheBucketsCannotHave) {
  Sketch sketch = SketchOf({100, 100});
  sketch.ForgetExact();
  std::string bytes = Encoded(sketch);
  const size_t at = bytes.find(std::string("\xc8\x01", 2));  // varint 200, the sum
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(0xf8);
  EXPECT_FALSE(Sketch::Decode(bytes).ok());
}

TEST(SketchDeath, NegativeValuesAreABrokenInvariant) { EXPECT_DEATH(Sketch().Add(-1), "broken invariant"); }

}  // namespace
}  // namespace lockstep
