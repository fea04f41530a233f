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

// What was measured, before anybody is compared.
struct LatenessSums::Measured {
  UnitNumbers::Result numbered;
  std::vector<RankOwnTime> own;
  Positions positions;
};

LatenessSums::Measured LatenessSums::Measure(const RankResolution& ranks, const RunMatch& match,
                                             std::string_view layout) {
  Measured out{numbers_.Finish(), {}, {}};
  if (!out.numbered.units.CanTest()) return out;
  out.own = own_.Finish(out.numbered.units, out.numbered.order);
  out.positions = FindPositions(ranks, match, pipelines_, layout);
  return out;
}

TestedLateness LatenessSums::Compare(const RankResolution& ranks, const RunMatch& match, const Measured& measured,
                                     std::vector<int32_t> late) const {
  TestedLateness out;
  out.units = measured.numbered.units;
  if (!out.units.CanTest()) return out;
  out.own = measured.own;
  out.late = std::move(late);
  CompareBesides(out.late, out.own);
  out.candidates = BuildCandidates(
      {ranks, match, out.units, measured.numbered.order, transfers_, out.own, measured.positions, out.late});
  return out;
}

TestedLateness LatenessSums::FinishUnjudged(const RankResolution& ranks, const RunMatch& match, std::string_view layout,
                                            const std::vector<int32_t>& late) {
  return Compare(ranks, match, Measure(ranks, match, layout), late);
}

TestedLateness LatenessSums::Finish(const RankResolution& ranks, const RunMatch& match, std::string_view layout) {
  constexpr int kMostRounds = 3;  // each finds who is hidden by those that the round before found
  const Measured measured = Measure(ranks, match, layout);
  TestedLateness out = Compare(ranks, match, measured, {});
  out.judgements = JudgeCandidates(out.candidates);
  for (int round = 1; round < kMostRounds; ++round) {
    std::vector<int32_t> late = LateRanks(out.candidates, out.judgements);
    if (late == out.late) break;
    out = Compare(ranks, match, measured, std::move(late));
    out.judgements = JudgeApart(out.candidates, out.late);
  }
  return out;
}

TestedLateness TestLateness(const RankResolution& ranks, const MatchResult& match, const ArrivalGraph& graph,
                            std::string_view layout) {
  LatenessSums sums(ranks.ranks.size(), RunExtent{});
  sums.Add(Chapter{match}, graph);
  return sums.Finish(ranks, match, layout);
}

}  // namespace lockstep
