// The cross-rank part of a report: arrivals with what came before them, blame, what-if, stragglers. Several views read
// it; it is computed once, when the first of them asks.
#pragma once

#include <absl/status/statusor.h>

#include <memory>

#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/report/analysis_context.h"

namespace lockstep {

// The parts refer to each other: not copied, not moved.
struct CrossRank {
  CrossRank() = default;
  CrossRank(const CrossRank&) = delete;
  CrossRank& operator=(const CrossRank&) = delete;

  ArrivalGraph graph;
  BlameResult blame;
  std::unique_ptr<const Replay> replay;
  StragglerResult stragglers;
};

// Errors: those of the instance source.
[[nodiscard]] absl::StatusOr<std::unique_ptr<const CrossRank>> AnalyseCrossRank(const AnalysisContext& context);

}  // namespace lockstep
