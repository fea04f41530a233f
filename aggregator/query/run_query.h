// Answers about stored runs: loads a run, lets the analysis compute, renders the document. No sockets.
// Thread safe as far as the store and the executor are.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <string>

#include "aggregator/query/open_runs.h"
#include "aggregator/store/job_store.h"
#include "analysis/base/executor.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// The report document (lockstep.report/1) as JSON text. A complete run counts as analysed from then on, and the store
// may keep what was answered: the same request gets the same text without being computed again, until the run changes.
// `open`: keeps the analysis of runs that still grow; null = each answer about such a run is computed from nothing.
// Errors: kNotFound (no such run), and those of BuildReport.
absl::StatusOr<std::string> AnswerViews(JobStore& store, const std::string& run, const AnalysisOptions& asked,
                                        Executor& executor, OpenRuns* open = nullptr);

// Makes the answer on each view of a complete run for the store to keep, so that the first question finds it there.
// Nothing is done about a run that is open, and in a store that keeps no answers. Where go_on says false it ends within
// seconds. Errors: kNotFound (no such run), kCancelled, and those of BuildReport.
absl::Status AnswerAhead(JobStore& store, const std::string& run, Executor& executor,
                         const std::function<bool()>& go_on);

// Writes the resolved ranks of a run that is complete into the store, for the people who read it with SQL. An open run
// is left alone: more sources may still change who is which rank.
absl::Status PublishRanks(JobStore& store, const std::string& run);

}  // namespace lockstep
