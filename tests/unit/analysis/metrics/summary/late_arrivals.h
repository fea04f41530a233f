// The late arrivals of a run, as the summary takes them.
#pragma once

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/summary/summary.h"

namespace lockstep {

inline LateArrivalsSum LateOf(const MatchResult& match) {
  LateArrivalsSum late;
  for (const MatchedInstance& instance : match.instances) late.Add(instance);
  return late;
}

}  // namespace lockstep
