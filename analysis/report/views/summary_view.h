// summary{}: the first thing that is read.
#pragma once

#include <vector>

#include "analysis/metrics/skew/collectives.h"
#include "analysis/metrics/summary/summary.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

struct SummaryParts {
  const Imbalance& imbalance;
  const Quality& quality;
  const std::vector<TailRow>& tails;
  const std::vector<CollectiveRowResult>& collectives;
  const LateArrivalsSum& late;
  const StragglerResult* stragglers = nullptr;  // null: not looked for
  const BlameResult* blame = nullptr;           // null: not computed
};

[[nodiscard]] Json SummaryView(const ViewInput& input, const SummaryParts& parts);

}  // namespace lockstep
