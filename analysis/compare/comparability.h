// Whether two sides can be compared, and how far. Pure, thread safe.
#pragma once

#include <optional>

#include "analysis/compare/sides.h"

namespace lockstep::compare {

[[nodiscard]] report::Comparable ComparabilityOf(const Sides& sides, std::optional<double> matched_time_ratio);

}  // namespace lockstep::compare
