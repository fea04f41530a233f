#include "analysis/metrics/stragglers/series_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lockstep {
namespace {

// Sums the binomial distribution term by term.
double NaiveTail(int n, int k, double p) {
  double sum = 0;
  for (int i = k; i <= n; ++i) {
    double term = 1;
    for (int j = 0; j < i; ++j) term *= static_cast<double>(n - j) / (i - j) * p;
    sum += term * std::pow(1 - p, n - i);
  }
  return sum;
}

TEST(BinomialTail, AgreesWithTheSumOfItsTerms) {
  for (const int n : {1, 2, 5, 17, 60}) {
    for (int k = 0; k <= n; ++k) {
      for (const double p : {0.5, 0.125, 1.0 / 64}) {
        const double naive = NaiveTail(n, k, p);
        EXPECT_NEAR(BinomialTail(n, k, p), naive, 1e-12 + 1e-9 * naive) << n << " " << k << " " << p;
      }
    }
  }
}

TEST(BinomialTail, OfARealNumberOfTrialsThatAllSucceedIsThePower) {
  for (const double n : {6.64, 17.3, 100.5})
    EXPECT_NEAR(BinomialTail(n, n, 0.5), std::pow(0.5, n), 1e-9 * std::pow(0.5, n));
}

TEST(HolmAdjusted, StepsDownAndNeverFalls) {
  const std::vector<double> adjusted = HolmAdjusted({0.01, 0.04, 0.03, 0.005});
  EXPECT_DOUBLE_EQ(adjusted[3], 0.02);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[2], 0.06);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.06);
}

std::vector<double> AutoRegressive(double rho, size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> series(n);
  double value = normal(random);
  for (double& at : series) at = value = rho * value + std::sqrt(1 - rho * rho) * normal(random);
  return series;
}

Autocorrelation MeanCorrelation(double rho, size_t n, unsigned families) {
  Autocorrelation mean;
  for (unsigned seed = 0; seed < families; ++seed) {
    mean.AddShare(AutocorrelationOf(AutoRegressive(rho, n, seed)), 1.0 / families);
  }
  return mean;
}

// The n-th lag is `first` times the n-1-th power of `decay`.
Autocorrelation SlowCorrelation(double first, double decay, size_t values) {
  Autocorrelation out{first, first * decay};
  double lag = first;
  for (size_t n = 1; n < LagsOf(values); ++n) {
    out.from_first += lag;
    lag *= decay;
    out.from_second += lag;
  }
  return out;
}

TEST(AutocorrelationOf, OfShortSeriesIsNearlyUnbiased) {
  for (const double rho : {0.0, 0.3, 0.6, 0.9}) EXPECT_NEAR(MeanCorrelation(rho, 60, 400).lag1, rho, 0.03) << rho;
}

TEST(AutocorrelationOf, IsNotHiddenByOutliers) {
  std::vector<double> series = AutoRegressive(0.9, 400, 1);
  for (size_t i = 7; i < series.size(); i += 40) series[i] += 1'000;
  EXPECT_GT(AutocorrelationOf(series).lag1, 0.5);
}

TEST(EffectiveCount, IsTheNumberOfStepsWhenTheyAreIndependent) {
  EXPECT_GT(EffectiveCount(40, {}, {MeanCorrelation(0, 40, 64), 64}), 35);
}

TEST(EffectiveCount, FollowsTheFamilysCorrelation) {
  const FamilyCorrelation family{MeanCorrelation(0.9, 100, 64), 64};
  EXPECT_NEAR(EffectiveCount(100, family.mean, family), 100 * 0.1 / 1.9, 2);
}

TEST(EffectiveCount, SeesSlowNoiseUnderFastNoise) {
  // Half of the variance is a slow part: lag 1 is 0.47, lag 2 is 0.45.
  const FamilyCorrelation family{SlowCorrelation(0.475, 0.95, 100), 64};
  EXPECT_LT(EffectiveCount(100, family.mean, family), 10);
}

TEST(EffectiveCount, DoesNotTakeAChanceSecondLagForSlowNoise) {
  Autocorrelation chance = SlowCorrelation(0.09, 0, 39);
  chance.lag2 = 0.09;
  chance.from_first += chance.lag2;
  chance.from_second = chance.lag2;
  EXPECT_GT(EffectiveCount(39, chance, {chance, 64}), 25);
}

TEST(EffectiveCount, OfOneSeriesThatIsMuchSlowerThanItsFamilyIsItsOwn) {
  const FamilyCorrelation family{{}, 64};
  EXPECT_LT(EffectiveCount(60, SlowCorrelation(0.9, 0.9, 60), family), 10);
}

TEST(CountNeeded, IsTheLeastAtWhichTheSignTestIsSignificant) {
  EXPECT_NEAR(CountNeeded(1, 0.01), std::log2(100), 1e-6);
  const double needed = CountNeeded(0.8, 1e-4);
  EXPECT_LE(BinomialTail(needed + 0.01, 0.8 * (needed + 0.01), 0.5), 1e-4);
  EXPECT_GT(BinomialTail(needed - 0.1, 0.8 * (needed - 0.1), 0.5), 1e-4);
  EXPECT_EQ(CountNeeded(0.5, 0.01), kManySteps);
}

}  // namespace
}  // namespace lockstep
