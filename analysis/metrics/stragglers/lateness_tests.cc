#include "analysis/metrics/stragglers/lateness_tests.h"

#include "analysis/metrics/stragglers/positions.h"

namespace lockstep {

LatenessTests TestLateness(const RankResolution& ranks, const MatchResult& match, const ArrivalGraph& graph,
                           std::string_view layout) {
  LatenessTests out;
  out.units = ChooseUnits(graph, match);
  if (!out.units.CanTest()) return out;
  out.own = MeasureOwnTime(graph, match, out.units);
  const Positions positions = FindPositions(ranks, match, layout);
  out.candidates = BuildCandidates({ranks, match, graph, out.units, out.own, positions});
  out.judgements = JudgeCandidates(out.candidates);
  return out;
}

}  // namespace lockstep
