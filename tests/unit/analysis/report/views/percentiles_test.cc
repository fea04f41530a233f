#include "analysis/report/views/percentiles.h"
#include "analysis/report/json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep {
namespace {

Sketch Of(int64_t from, int64_t to) {
  Sketch sketch;
  for (int64_t v = from; v <= to; ++v) sketch.Add(v);
  return sketch;
}

std::vector<std::string> Keys(const Json& json) {
  std::vector<std::string> out;
  for (const auto& [key, value] : json.items()) out.push_back(key);
  return out;
}

TEST(Percentiles, AnEmptySketchIsNullsAndACountOfZero) {
  const Json json = PercentilesOf(Sketch{});
  EXPECT_EQ(json["count"], 0);
  for (const char* key : {"p50", "p90", "p95", "p99", "p999", "max", "min", "mean", "stddev"}) {
    EXPECT_TRUE(json[key].is_null()) << key;
  }
}

TEST(Percentiles, APercentileWithTooFewValuesIsNull) {
  const Json json = PercentilesOf(Of(1, 99));
  EXPECT_EQ(json["p95"], 95);
  EXPECT_TRUE(json["p99"].is_null());
  EXPECT_EQ(Json(PercentilesOf(Of(1, 100)))["p99"], 99);
}

TEST(Percentiles, TheMedianIsThereOnlyWhenAsked) {
  EXPECT_FALSE(Json(PercentilesOf(Of(1, 4))).contains("median"));
  EXPECT_EQ(Json(PercentilesOf(Of(1, 4), PercentileMedian::kInclude))["median"], 2.5);
}

TEST(Percentiles, BoundsStandBesideHistogramsOnly) {
  EXPECT_FALSE(Json(PercentilesOf(Of(1, 1'000))).contains("bounds"));
  const Json json = PercentilesOf(Of(1'000'000, 1'002'000), PercentileMedian::kInclude);
  const int64_t p99 = 1'000'000 + 1'981 - 1;
  EXPECT_LE(json["bounds"]["p99"][0].get<int64_t>(), p99);
  EXPECT_GE(json["bounds"]["p99"][1].get<int64_t>(), p99);
  EXPECT_TRUE(json["median"].is_null());
}

TEST(Percentiles, KeysComeInTheOrderOfTheInterface) {
  EXPECT_EQ(Keys(PercentilesOf(Of(1, 3))),
            (std::vector<std::string>{"p50", "p90", "p95", "p99", "p999", "max", "min", "mean", "count", "stddev"}));
}

TEST(Percentiles, ScalingTurnsBytesPerSecondIntoGigabytes) {
  Sketch sketch;
  for (int i = 0; i < 10; ++i) sketch.Add(250'000'000'000);
  const Json json = ScaledPercentiles(sketch, 1e-9);
  EXPECT_DOUBLE_EQ(json["p90"].get<double>(), 250.0);
  EXPECT_DOUBLE_EQ(json["mean"].get<double>(), 250.0);
  EXPECT_EQ(json["count"], 10);
}

TEST(Percentiles, SignedValuesKeepTheirSign) {
  SignedSketch sketch;
  for (int64_t v = -10; v <= 9; ++v) sketch.Add(v);
  const Json json = PercentilesOf(sketch);
  EXPECT_EQ(json["min"], -10);
  EXPECT_EQ(json["p50"], -1);
  EXPECT_EQ(json["p95"], 8);
}

TEST(TailRatios, SayHowFarTheTailReaches) {
  Sketch sketch;
  for (int i = 0; i < 99; ++i) sketch.Add(100);
  EXPECT_EQ(TailRatiosOf(sketch).p99_over_p50_ratio, std::nullopt);
  sketch.Add(250);
  const report::TailRatios ratios = TailRatiosOf(sketch);
  EXPECT_EQ(ratios.p99_over_p50_ratio, 1.0);
  EXPECT_EQ(ratios.max_over_p50_ratio, 2.5);
  EXPECT_EQ(ratios.tail_flags, std::vector<std::string>{"outliers"});
  EXPECT_EQ(TailRatiosOf(Sketch{}).tail_flags, std::nullopt);
}

}  // namespace
}  // namespace lockstep
