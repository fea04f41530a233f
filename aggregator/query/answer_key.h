// What an answer depends on beside the content of its run: the request, and the code that answers it.
#pragma once

#include "analysis/base/hash128.h"
#include "analysis/metrics/run/analysis_options.h"

namespace lockstep {

// Equal only for requests of the same meaning, made to programs of the same sources. The expected ranks are said by the
// run, not by the request. Pure.
[[nodiscard]] Hash128 AnswerKey(const AnalysisOptions& options);

// Under which is kept that the ranks of a run were published; no answer to any request.
[[nodiscard]] Hash128 PublishedRanksKey();

}  // namespace lockstep
