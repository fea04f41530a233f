// One matched collective as a row. Pure and thread safe.
#pragma once

#include "analysis/report/analysis_context.h"
#include "analysis/report/rows/collectives.h"

namespace lockstep {

// Without members.
[[nodiscard]] report::SkewInstance SkewInstanceOf(const AnalysisContext& context, const MatchedInstance& instance);
[[nodiscard]] report::SkewMember SkewMemberOf(const AnalysisContext& context, const MatchedInstance& instance,
                                              const MatchedMember& member);

}  // namespace lockstep
