// How many more steps or repeats a comparison needs to find a change of a given size in four of five cases (kPower):
// (t.975 + t.80) * error <= size, planned with the noise that the comparison itself saw. A plan, not a promise: the
// noise of the new runs may differ. Sizes in the unit of the comparison (logarithm: log1p(0.01) for 1 %; or ns). Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "analysis/compare/statistics/compare_sides.h"

namespace lockstep::compare {

inline constexpr size_t kMostRepeatsPlanned = 1'000;

// More repeats a side (to the larger side; the smaller one is first brought up to it). 0: it finds such a change now.
// Nothing: more than kMostRepeatsPlanned, or a size that is not above 0, or a side without runs.
[[nodiscard]] std::optional<size_t> MoreRepeatsToResolve(const Comparison& comparison, double size);

// More steps a run, with the runs that there are. Nothing: the noise between runs or a drift alone is too large, or as
// above. With repeats always nothing or 0: how much of the noise more steps would remove is not known.
[[nodiscard]] std::optional<size_t> MoreStepsToResolve(const Comparison& comparison, double size);

}  // namespace lockstep::compare
