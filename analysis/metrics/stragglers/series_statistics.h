// The statistics of the straggler test: binomial tails with a real number of trials, Holm's correction, and how many
// independent values an autocorrelated series is worth. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace lockstep {

// P(Bin(n, p) >= k) for real n >= k >= 0, by the regularised incomplete beta function (exact for integers).
[[nodiscard]] double BinomialTail(double n, double k, double p);

// Adjusted p values by Holm's step-down, in the order of the input.
[[nodiscard]] std::vector<double> HolmAdjusted(const std::vector<double>& p);

// Autocorrelation of a series without its outliers (beyond 4 robust standard deviations), corrected for the bias of the
// estimated mean. Zeros for fewer than 4 values or a constant series.
struct Autocorrelation {
  double lag1 = 0;
  double lag2 = 0;
  double from_first = 0;   // sum of the lags 1 to K - 1, K = LagsOf(number of values): how fast they fall off shows
  double from_second = 0;  // in that of the lags 2 to K

  // Adds `share` of another one, towards a mean.
  void AddShare(const Autocorrelation& one, double share);
};
[[nodiscard]] size_t LagsOf(size_t values);
[[nodiscard]] Autocorrelation AutocorrelationOf(const std::vector<double>& series);

// The mean over a family of series that are alike but for what is looked for.
struct FamilyCorrelation {
  Autocorrelation mean;
  size_t members = 0;
};

// What a series is worth: by the autocorrelation of its family, less a standard error; its own counts only where it is
// clearly larger. Slow noise under fast one is seen by the ratio of the lags.
[[nodiscard]] double EffectiveCount(size_t values, const Autocorrelation& own, const FamilyCorrelation& family);

// The least effective count at which a share `late` of late steps would be significant at `alpha`; at most kManySteps.
inline constexpr double kManySteps = 1e6;
[[nodiscard]] double CountNeeded(double late, double alpha);

}  // namespace lockstep
