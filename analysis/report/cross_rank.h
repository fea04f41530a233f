// The cross-rank part of a report: arrivals with what came before them, blame, what-if, stragglers. Several views read
// it; it is computed once.
//
// Blame and lateness are of the whole run, chapter by chapter. What-ifs, and what explains a straggler from the
// arrivals themselves, are of one chapter, the sample: a run of one chapter is its own.
#pragma once

#include <absl/status/status.h>

#include <memory>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/chapter.h"
#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/metrics/stragglers/tested_lateness.h"
#include "analysis/model/instance_source.h"

namespace lockstep {

// The parts refer to each other: not copied, not moved.
struct CrossRankSample {
  CrossRankSample() = default;
  CrossRankSample(const CrossRankSample&) = delete;
  CrossRankSample& operator=(const CrossRankSample&) = delete;

  std::shared_ptr<const MatchResult> match;
  ArrivalGraph graph;
  std::unique_ptr<const Replay> replay;
  std::unique_ptr<const LatenessSums> lateness;  // its own; null: it is the run
  mutable WhatIfMemo what_ifs;  // on it; copies of the sums that share the sample are finished one at a time
};

struct CrossRank {
  std::shared_ptr<const CrossRankSample> sample;
  BlameResult blame;
  StragglerResult stragglers;
};

// Fed with the chapters of a run, those of a rank in order of time. A copy shares the sample and goes on for itself.
class CrossRankSums {
 public:
  // Borrows the run and the ranks.
  CrossRankSums(const RunData& run, const RankResolution& ranks, const RunExtent& extent)
      : run_(run), ranks_(ranks), sample_is_a_part_(extent.span_ns != 0), lateness_(ranks.ranks.size(), extent) {}
  // Also keeps the map of what each rank caused.
  CrossRankSums(const RunData& run, const RankResolution& ranks, const RunExtent& extent, const MapAxis& axis)
      : run_(run),
        ranks_(ranks),
        sample_is_a_part_(extent.span_ns != 0),
        lateness_(ranks.ranks.size(), extent),
        blame_(axis) {}

  // `instances`: rows of the chapter. `sample`: what the chapter borrows if it is the sample; one is, or of several the
  // last one counts. Errors: those of the instances.
  [[nodiscard]] absl::Status Add(const Chapter& chapter, InstanceSource& instances,
                                 std::shared_ptr<const MatchResult> sample, Executor& executor);
  // A sample that no chapter is: its match and its rows, which nobody else should hold: they are let go of.
  [[nodiscard]] absl::Status SetSample(std::shared_ptr<const MatchResult> match, std::shared_ptr<InstanceSource> rows,
                                       Executor& executor);
  // Null without an axis.
  [[nodiscard]] CausedWaitGrid* grid() { return blame_.grid(); }
  // The sums are used up, but for the map.
  [[nodiscard]] std::unique_ptr<const CrossRank> Finish(const RunMatch& match, const AnalysisOptions& options,
                                                        Executor& executor);

 private:
  void SumLateness(CrossRankSample& sample) const;

  const RunData& run_;
  const RankResolution& ranks_;
  bool sample_is_a_part_ = false;  // else the sample is the run
  LatenessSums lateness_;
  BlameSums blame_;
  std::shared_ptr<const CrossRankSample> sample_;
};

}  // namespace lockstep
