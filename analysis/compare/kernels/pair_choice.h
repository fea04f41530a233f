// Pairs of a bucket that have no rival. Inside of this room. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "analysis/compare/kernels/match_state.h"
#include "analysis/compare/kernels/step_order.h"

namespace lockstep::compare {

// More pairs than these are not compared: time would grow with the square of the number of kernels. Held by
// MatchKernels.ThousandsOfKernelsWithOneBaseAreLeftUnmatchedWithAReason.
inline constexpr size_t kMostPairsCompared = 40'000;

// How much cheaper than the next best a pair must be, in the unit of the costs below, so that it is no matter of
// chance. Held by the random models of match_random_test.cc: a smaller one pairs neighbours of equal shape wrongly.
inline constexpr double kLeastMargin = 0.15;

// Cost of a pair, infinite = cannot be one.
using PairCost = std::function<double(size_t b, size_t a)>;

[[nodiscard]] bool TooManyPairs(const Bucket& bucket);

// Pairs that are the cheapest of both of their kernels by kLeastMargin; those pairs taken away, again, until there are
// none. At most a few rounds over all pairs. A bucket with too many pairs has none.
[[nodiscard]] std::vector<std::pair<size_t, size_t>> PairsWithoutRival(const Bucket& bucket, const PairCost& cost);

// How badly launches, places, ranges and times of two kernels agree: 0 = well. Each of the first three counts up to 1,
// time little, as it is what a comparison finds to differ.
[[nodiscard]] double EvidenceCost(const MatchState& state, const StepOrder& order, size_t b, size_t a);

// Sums of launches that agree: equal loops give equal counts, up to steps that are cut off.
[[nodiscard]] bool LaunchesAgree(double before, double after);
[[nodiscard]] double SumOf(const std::vector<double>& values, const std::vector<size_t>& members);

// The largest ratio of times at which a guess is still made. Kernels of other versions are rarely more than three times
// faster or slower; held by the random models.
inline constexpr double kMostDoublingsOfTime = 2;

}  // namespace lockstep::compare
