// The steps of an analysis that every way through a run takes: checks first, then its chapters into the sums.
#pragma once

#include <absl/status/status.h>

#include <functional>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/report/instance_sums.h"
#include "analysis/report/run_chapters.h"
#include "analysis/report/views/view_input.h"

namespace lockstep {

// kInvalidArgument: unknown view, negative limit.
[[nodiscard]] absl::Status CheckOptions(const AnalysisOptions& options);
// kFailedPrecondition: the sources are several runs, or none is left; kInvalidArgument: no rank is selected.
[[nodiscard]] absl::Status CheckRanks(const RunData& run, const RankResolution& ranks, const AnalysisOptions& options);

// Takes the chapters that there are through the sums; `go_on` is asked before each if it is set. Errors: those of the
// instances, and of the pattern of names.
[[nodiscard]] absl::Status SumChapters(RunChapters& chapters, const Fleet& fleet, const std::vector<bool>& selected,
                                       std::vector<Notice>& notices, Executor& executor, FleetMeter& meter,
                                       InstanceSums& sums, const std::function<bool()>& go_on = nullptr);

// Savings of a run that is taken through in chapters are computed from one of them.
void NotifyOfSample(const ViewInput& input, const RunChapters& chapters);

}  // namespace lockstep
