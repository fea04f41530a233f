#include "analysis/metrics/clock_align/band.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lockstep {
namespace {

struct Bounds {
  std::vector<Sample> upper;
  std::vector<Sample> lower;
};

double Draw(uint64_t seed, uint64_t i) {
  uint64_t x = seed * 0x9e3779b97f4a7c15ULL + i * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 31)) * 0x94d049bb133111ebULL;
  return static_cast<double>((x ^ (x >> 29)) >> 11) * 0x1p-53;
}

// Bounds about the line 500 + 2e-5 t, at least 20 us away.
Bounds AboutALine(uint64_t seed, size_t n) {
  Bounds out;
  for (size_t i = 0; i < n; ++i) {
    const double t = (static_cast<double>(i) + Draw(seed, 3 * i)) * 1e7;
    const double line = 500 + 2e-5 * t;
    out.upper.push_back({t, line + 20'000 + 90'000 * Draw(seed, 3 * i + 1)});
    out.lower.push_back({t, line - 20'000 - 90'000 * Draw(seed, 3 * i + 2)});
  }
  return out;
}

std::optional<BandAt> Evaluate(const Bounds& bounds, double t_star) {
  HalfHull upper(true);
  HalfHull lower(false);
  for (const Sample& s : bounds.upper) upper.Add(s);
  for (const Sample& s : bounds.lower) lower.Add(s);
  return EvaluateBand(upper, lower, {.t_star = t_star, .wander = 0});
}

// Every vertex of the feasible (slope, value at t*) region lies on two of the constraints: tries all pairs.
std::pair<double, double> NaiveRange(const Bounds& bounds, double t_star) {
  constexpr double kMaxSlope = 1.2e-4;
  std::vector<Sample> all = bounds.upper;
  all.insert(all.end(), bounds.lower.begin(), bounds.lower.end());
  std::vector<double> slopes{-kMaxSlope, kMaxSlope};
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t k = i + 1; k < all.size(); ++k) {
      if (all[i].t != all[k].t) slopes.push_back((all[k].y - all[i].y) / (all[k].t - all[i].t));
    }
  }
  double lowest = INFINITY;
  double highest = -INFINITY;
  for (double slope : slopes) {
    if (std::abs(slope) > kMaxSlope) continue;
    double hi = INFINITY;
    double lo = -INFINITY;
    for (const Sample& s : bounds.upper) hi = std::min(hi, s.y - slope * (s.t - t_star));
    for (const Sample& s : bounds.lower) lo = std::max(lo, s.y - slope * (s.t - t_star));
    if (lo > hi + 1e-6) continue;
    lowest = std::min(lowest, lo);
    highest = std::max(highest, hi);
  }
  return {lowest, highest};
}

TEST(Band, EqualsTheNaiveSearchOverAllPairsOfConstraints) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const Bounds bounds = AboutALine(seed, 5 + seed % 20);
    for (double t_star : {-1e7, 3e7, 4e8}) {
      const auto band = Evaluate(bounds, t_star);
      ASSERT_TRUE(band.has_value());
      const auto [lo, hi] = NaiveRange(bounds, t_star);
      EXPECT_NEAR(band->lo, lo, 5) << seed << " at " << t_star;
      EXPECT_NEAR(band->hi, hi, 5) << seed << " at " << t_star;
      EXPECT_EQ(band->repair, 0);
    }
  }
}

TEST(Band, HoldsTheLineItWasMadeAbout) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto band = Evaluate(AboutALine(seed, 200), 1e9);
    EXPECT_LE(band->lo, 500 + 2e-5 * 1e9);
    EXPECT_GE(band->hi, 500 + 2e-5 * 1e9);
    EXPECT_LT(std::abs(band->centre - 500 - 2e-5 * 1e9), 20'000);
  }
}

TEST(Band, ContradictionsAreToldBySize) {
  Bounds bounds = AboutALine(7, 50);
  bounds.lower[25].y = bounds.upper[25].y + 300'000;
  HalfHull upper(true);
  HalfHull lower(false);
  for (const Sample& s : bounds.upper) upper.Add(s);
  for (const Sample& s : bounds.lower) lower.Add(s);
  const auto band = EvaluateBand(upper, lower, {.t_star = 2e8, .wander = 0});
  EXPECT_GT(band->repair, 100'000);
  EXPECT_LE(band->lo, band->hi);
}

TEST(Band, MergedHullsBoundLikeAllTheirPoints) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Bounds bounds = AboutALine(seed, 60);
    HalfHull upper(true);
    HalfHull lower(false);
    HalfHull later_upper(true);
    HalfHull later_lower(false);
    for (size_t i = 0; i < 60; ++i) {
      (i < 30 ? upper : later_upper).Add(bounds.upper[i]);
      (i < 30 ? lower : later_lower).Add(bounds.lower[i]);
    }
    later_upper.Merge(upper);
    later_lower.Merge(lower);
    const auto merged = EvaluateBand(later_upper, later_lower, {.t_star = 1e8, .wander = 0});
    const auto whole = Evaluate(bounds, 1e8);
    EXPECT_NEAR(merged->lo, whole->lo, 1e-3);
    EXPECT_NEAR(merged->hi, whole->hi, 1e-3);
  }
}

TEST(Band, WanderLoosensWhatIsFarAway) {
  const Bounds bounds = AboutALine(3, 100);
  HalfHull upper(true);
  HalfHull lower(false);
  for (const Sample& s : bounds.upper) upper.Add(s);
  for (const Sample& s : bounds.lower) lower.Add(s);
  const auto rigid = EvaluateBand(upper, lower, {.t_star = 5e8, .wander = 0});
  const auto loose = EvaluateBand(upper, lower, {.t_star = 5e8, .wander = 1e-5});
  EXPECT_LT(loose->lo, rigid->lo);
  EXPECT_GT(loose->hi, rigid->hi);
}

TEST(Band, OneSideAloneIsNoBand) {
  HalfHull upper(true);
  upper.Add({0, 1});
  EXPECT_FALSE(EvaluateBand(upper, HalfHull(false), {}).has_value());
}

}  // namespace
}  // namespace lockstep
