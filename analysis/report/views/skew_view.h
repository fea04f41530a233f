// skew{}: who waits, who makes the others wait, step by step, and with --instances the matched instances themselves:
// the N with the most waiting (1,000 unless said otherwise), in order of (communicator, index). Times are relative to
// the run's start.
#pragma once

#include "analysis/metrics/skew/skew.h"
#include "analysis/report/analysis_context.h"
#include "analysis/report/report.h"

namespace lockstep {

[[nodiscard]] Json SkewView(const AnalysisContext& context, const SkewTotals& totals);

}  // namespace lockstep
