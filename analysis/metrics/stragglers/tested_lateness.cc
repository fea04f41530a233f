#include "analysis/metrics/stragglers/tested_lateness.h"

#include <utility>

#include "analysis/metrics/stragglers/late_peers.h"

namespace lockstep {

void LatenessSums::Add(const Chapter& chapter, const ArrivalGraph& graph) {
  numbers_.Open(chapter, graph);
  own_.Add(chapter, graph, numbers_);
  transfers_.Add(chapter, graph, numbers_);
  ForEachOwn(chapter, [&](const MatchedInstance& instance) {
    pipelines_.Add(instance, chapter.match.communicators[instance.communicator]);
  });
}

// Where everything is, to know who is compared with whom.
struct LatenessSums::Places {
  std::vector<size_t> order;  // number of each unit
  Positions positions;
};

LatenessSums::Places LatenessSums::Measure(const RankResolution& ranks, const RunMatch& match,
                                           const std::optional<ParallelLayout>& layout, TestedLateness& out) {
  UnitNumbers::Result numbered = numbers_.Finish();
  out.units = std::move(numbered.units);
  if (!out.units.CanTest()) return {};
  out.own = own_.Finish(out.units, numbered.order);
  return {std::move(numbered.order), FindPositions(ranks, match, pipelines_, layout)};
}

void LatenessSums::Compare(const RankResolution& ranks, const RunMatch& match, const Places& places, KnownLate late,
                           TestedLateness& out) const {
  if (!out.units.CanTest()) return;
  out.late = std::move(late);
  out.candidates.clear();
  out.candidates =
      BuildCandidates({ranks, match, out.units, places.order, transfers_, out.own, places.positions, out.late});
}

TestedLateness LatenessSums::FinishUnjudged(const RankResolution& ranks, const RunMatch& match,
                                            const std::optional<ParallelLayout>& layout, const KnownLate& late) {
  TestedLateness out;
  const Places places = Measure(ranks, match, layout, out);
  Compare(ranks, match, places, late, out);
  return out;
}

TestedLateness LatenessSums::Finish(const RankResolution& ranks, const RunMatch& match,
                                    const std::optional<ParallelLayout>& layout) {
  constexpr int kMostRounds = 3;  // each finds who is hidden by those that the round before found
  TestedLateness out;
  const Places places = Measure(ranks, match, layout, out);
  Compare(ranks, match, places, {}, out);
  out.judgements = JudgeCandidates(out.candidates);
  for (int round = 1; round < kMostRounds; ++round) {
    KnownLate late = FindLate(out.candidates, out.judgements, out.own);
    if (late == out.late) break;
    Compare(ranks, match, places, std::move(late), out);
    out.judgements = JudgeApart(out.candidates, out.late.ranks);
  }
  return out;
}

TestedLateness TestLateness(const RankResolution& ranks, const MatchResult& match, const ArrivalGraph& graph,
                            const std::optional<ParallelLayout>& layout) {
  LatenessSums sums(ranks.ranks.size(), RunExtent{});
  sums.Add(Chapter{match}, graph);
  return sums.Finish(ranks, match, layout);
}

}  // namespace lockstep
