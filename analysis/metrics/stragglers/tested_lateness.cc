#include "analysis/metrics/stragglers/tested_lateness.h"

#include <utility>

namespace lockstep {

void LatenessSums::Add(const Chapter& chapter, const ArrivalGraph& graph) {
  numbers_.Open(chapter, graph);
  own_.Add(chapter, graph, numbers_);
  transfers_.Add(chapter, graph, numbers_);
  ForEachOwn(chapter, [&](const MatchedInstance& instance) {
    pipelines_.Add(instance, chapter.match.communicators[instance.communicator]);
  });
}

TestedLateness LatenessSums::FinishUnjudged(const RankResolution& ranks, const RunMatch& match,
                                            std::string_view layout) {
  TestedLateness out;
  UnitNumbers::Result numbered = numbers_.Finish();
  out.units = std::move(numbered.units);
  if (!out.units.CanTest()) return out;
  out.own = own_.Finish(out.units, numbered.order);
  const Positions positions = FindPositions(ranks, match, pipelines_, layout);
  out.candidates = BuildCandidates({ranks, match, out.units, numbered.order, transfers_, out.own, positions});
  return out;
}

TestedLateness LatenessSums::Finish(const RankResolution& ranks, const RunMatch& match, std::string_view layout) {
  TestedLateness out = FinishUnjudged(ranks, match, layout);
  out.judgements = JudgeCandidates(out.candidates);
  return out;
}

TestedLateness TestLateness(const RankResolution& ranks, const MatchResult& match, const ArrivalGraph& graph,
                            std::string_view layout) {
  LatenessSums sums(ranks.ranks.size(), RunExtent{});
  sums.Add(Chapter{match}, graph);
  return sums.Finish(ranks, match, layout);
}

}  // namespace lockstep
