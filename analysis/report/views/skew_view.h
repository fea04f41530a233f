// skew{}: who waits, who makes the others wait, step by step, and with --instances the matched instances themselves:
// the N with the most waiting (1,000 unless said otherwise), in order of (communicator, index). Times are relative to
// the run's start. `listed`: null where none are to be listed; used up.
#pragma once

#include "analysis/metrics/skew/listed_instances.h"
#include "analysis/metrics/skew/skew.h"
#include "analysis/report/analysis_context.h"
#include "analysis/report/report.h"

namespace lockstep {

[[nodiscard]] Json SkewView(const AnalysisContext& context, const SkewTotals& totals, ListedInstances* listed);

}  // namespace lockstep
