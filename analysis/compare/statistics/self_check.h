// How often the comparison would raise a false alarm on one run: the run is cut into blocks of 2 * tau steps, the
// blocks are dealt to two sides, and the sides are compared by the error within the runs alone. The code is the same,
// so each side that is called slower or faster is a false alarm.
//
// Deals: the Walsh functions w_j(i) = parity(popcount(i & j)) of the block number i, j = 1 .. min(63, blocks - 1
// rounded to bits): j = 1 is odd against even, a power of two is coarser stripes. Deterministic. A jump or a drift
// shows in the first half against the second. A run whose correlation is so long that it has fewer than 4 blocks has no
// deals. The deals share their steps, so the share of alarms is a summary of one run and not a test with a p value; add
// up many metrics or runs for a rate. Pure, thread safe.
#pragma once

#include <cstddef>
#include <span>

#include "analysis/compare/statistics/run_estimate.h"

namespace lockstep::compare {

inline constexpr size_t kMostDeals = 63;
// Alarms beyond this share of the deals of many metrics together mean that this run breaks the assumptions.
inline constexpr double kMostFalseAlarms = 0.07;

struct SelfCheck {
  size_t block_steps = 0;
  size_t blocks = 0;
  size_t deals = 0;             // that were compared
  size_t refused = 0;           // too few effective steps
  size_t alarms = 0;            // slower or faster, however small (the interval excludes 0)
  double largest = 0;           // largest difference of any deal: logarithm or ns
  bool odd_even_alarm = false;  // of the deal j = 1
  bool halves_alarm = false;    // of the first half of the steps against the second, which is no deal
};

// `values`: of one run without its warm-up.
[[nodiscard]] SelfCheck CheckAgainstItself(std::span<const double> values, Scale scale);

}  // namespace lockstep::compare
