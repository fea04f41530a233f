// summary{}: the first thing that is read.
#pragma once

#include <vector>

#include "analysis/metrics/summary.h"
#include "analysis/report/view_input.h"

namespace lockstep {

struct SummaryParts {
  const Imbalance& imbalance;
  const Quality& quality;
  const std::vector<TailRow>& tails;
};

[[nodiscard]] Json SummaryView(const ViewInput& input, const SummaryParts& parts);

}  // namespace lockstep
