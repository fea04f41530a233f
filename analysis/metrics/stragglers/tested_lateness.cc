#include "analysis/metrics/stragglers/tested_lateness.h"

#include "analysis/metrics/stragglers/positions.h"

namespace lockstep {

TestedLateness TestLateness(const RankResolution& ranks, const MatchResult& match, const ArrivalGraph& graph,
                            std::string_view layout) {
  TestedLateness out;
  out.units = ChooseUnits(graph, match);
  if (!out.units.CanTest()) return out;
  out.own = MeasureOwnTime(graph, match, out.units);
  const Positions positions = FindPositions(ranks, match, layout);
  out.candidates = BuildCandidates({ranks, match, graph, out.units, out.own, positions});
  out.judgements = JudgeCandidates(out.candidates);
  return out;
}

}  // namespace lockstep
