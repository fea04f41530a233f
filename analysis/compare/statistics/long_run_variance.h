// The variance of the mean of a correlated series: sd^2 * tau / n, with tau = 1 + 2 * (sum of the autocorrelations) by
// the initial monotone positive sequence of Geyer (Practical Markov chain Monte Carlo, 1992, section 3.3), at least 1.
// Pure, deterministic, thread safe. At most kMostBlocks^2 / 2 multiplications, whatever the length.
#pragma once

#include <cstddef>
#include <span>

namespace lockstep::compare {

// Longer series are averaged in blocks of equal length first, so that a hostile series does not cost n^2. The variance
// of the mean is the same. LongRunVariance.ALongSeriesCostsNoMoreThanItsBlocks holds it.
inline constexpr size_t kMostBlocks = 4096;

struct LongRunVariance {
  double variance = 0;   // of one value (divisor n)
  double tau = 1;        // steps that are worth one independent step
  double effective = 0;  // n / tau: independent steps
};

// Of finite values of magnitude below 1e150. A series of fewer than 8 * tau values does not show its tau: half of such
// series give one that is far too small. A correction for the mean that was taken out does not help: it refuses many
// more steady series, and those that still pass are as wrong as before.
[[nodiscard]] LongRunVariance LongRunVarianceOf(std::span<const double> values);

}  // namespace lockstep::compare
