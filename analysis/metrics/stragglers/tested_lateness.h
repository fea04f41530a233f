// What is late and how surely, before it is known what that costs: needs neither a replay nor blame. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/metrics/stragglers/candidates.h"
#include "analysis/metrics/stragglers/judge.h"
#include "analysis/metrics/stragglers/own_time.h"
#include "analysis/metrics/stragglers/positions.h"

namespace lockstep {

struct TestedLateness {
  TestUnits units;
  std::vector<RankOwnTime> own;  // by rank index; empty without units
  std::vector<Candidate> candidates;
  std::vector<Judgement> judgements;  // of the candidates
  KnownLate late;                     // late_peers.h
};

// What the test is made from, over the chapters of a run, those of a rank in order of time.
class LatenessSums {
 public:
  LatenessSums(size_t ranks, const RunExtent& extent) : numbers_(extent), own_(ranks) {}
  // `graph`: of the chapter.
  void Add(const Chapter& chapter, const ArrivalGraph& graph);
  // `layout`: that of --layout; without one, infer rails and stages from the communicators where they tell. The sums
  // are used up.
  [[nodiscard]] TestedLateness Finish(const RankResolution& ranks, const RunMatch& match,
                                      const std::optional<ParallelLayout>& layout);
  // The same without judgements. `late`: of the judged run that these are a part of.
  [[nodiscard]] TestedLateness FinishUnjudged(const RankResolution& ranks, const RunMatch& match,
                                              const std::optional<ParallelLayout>& layout, const KnownLate& late);

 private:
  struct Places;
  // What was measured, before anybody is compared.
  [[nodiscard]] Places Measure(const RankResolution& ranks, const RunMatch& match,
                               const std::optional<ParallelLayout>& layout, TestedLateness& out);
  void Compare(const RankResolution& ranks, const RunMatch& match, const Places& places, KnownLate late,
               TestedLateness& out) const;

  UnitNumbers numbers_;
  OwnTimeSums own_;
  TransferSums transfers_;
  PipelineLinks pipelines_;
};

// Of a run that is one chapter.
[[nodiscard]] TestedLateness TestLateness(const RankResolution& ranks, const MatchResult& match,
                                          const ArrivalGraph& graph, const std::optional<ParallelLayout>& layout);

}  // namespace lockstep
