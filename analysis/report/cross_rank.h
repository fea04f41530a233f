// The cross-rank part of a report: arrivals with what came before them, blame, what-if, stragglers. Several views read
// it; it is computed once.
//
// Blame and lateness are of the whole run, chapter by chapter. What-ifs, and what explains a straggler from the
// arrivals themselves, are of one chapter, the sample: a run of one chapter is its own.
#pragma once

#include <absl/status/status.h>

#include <memory>

#include "analysis/metrics/match/chapter.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/metrics/stragglers/tested_lateness.h"

namespace lockstep {

// The parts refer to each other: not copied, not moved.
struct CrossRank {
  CrossRank() = default;
  CrossRank(const CrossRank&) = delete;
  CrossRank& operator=(const CrossRank&) = delete;

  std::shared_ptr<const MatchResult> match;  // of the sample
  ArrivalGraph graph;                        // of the sample
  std::unique_ptr<const Replay> replay;      // of the sample
  BlameResult blame;
  StragglerResult stragglers;
};

// Fed with the chapters of a run in order of time.
class CrossRankSums {
 public:
  // Borrows all. `span_ns`: length of the run; 0 = one chapter is the run.
  CrossRankSums(const RunData& run, const RankResolution& ranks, int64_t span_ns)
      : run_(run), ranks_(ranks), lateness_(ranks.ranks.size(), span_ns) {}

  // `instances`: rows of the chapter. `sample`: what the chapter borrows if it is the sample; exactly one is. Errors:
  // those of the instances.
  [[nodiscard]] absl::Status Add(const Chapter& chapter, InstanceSource& instances,
                                 std::shared_ptr<const MatchResult> sample, Executor& executor);
  // The sums are used up.
  [[nodiscard]] std::unique_ptr<const CrossRank> Finish(const RunMatch& match, const AnalysisOptions& options);

 private:
  const RunData& run_;
  const RankResolution& ranks_;
  LatenessSums lateness_;
  BlameSums blame_;
  std::unique_ptr<CrossRank> sample_ = std::make_unique<CrossRank>();
};

}  // namespace lockstep
