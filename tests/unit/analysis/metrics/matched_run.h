// A built run, resolved and matched.
#pragma once

#include <utility>

#include "analysis/metrics/match/run_matcher.h"
#include "analysis/metrics/run/ranks.h"
#include "tests/support/run_builder.h"

namespace lockstep {

struct MatchedRun {
  BuiltRun built;
  RankResolution ranks;
  MatchResult match;
};

inline MatchedRun Match(const RunBuilder& builder, bool reversed = false) {
  MatchedRun out{builder.Build(), {}, {}};
  out.ranks = ResolveRanks(out.built.run, {});
  InlineExecutor executor(reversed);
  auto match = MatchRun(out.built.run, out.built.instances, out.ranks, executor);
  if (match.ok()) out.match = *std::move(match);
  return out;
}

// As a filter.
inline bool EveryInstance(const MatchedInstance&) { return true; }

}  // namespace lockstep
