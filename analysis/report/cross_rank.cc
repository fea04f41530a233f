#include "analysis/report/cross_rank.h"

#include <functional>
#include <utility>
#include <vector>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"

namespace lockstep {

absl::Status CrossRankSums::Add(const Chapter& chapter, InstanceSource& instances,
                                std::shared_ptr<const MatchResult> sample, Executor& executor) {
  LOCKSTEP_ASSIGN_OR_RETURN(ArrivalGraph graph, LoadArrivalGraph(run_, instances, ranks_, chapter.match, executor));
  const bool is_sample = sample != nullptr;
  if (is_sample) {
    sample_->graph = std::move(graph);
    sample_->match = std::move(sample);
  }
  const ArrivalGraph& arrivals = is_sample ? sample_->graph : graph;
  // The longest first: none needs another.
  std::vector<std::function<void()>> parts = {
      [&] { blame_.Add(chapter, arrivals); },
      [&] { lateness_.Add(chapter, arrivals); },
  };
  if (is_sample) {
    parts.insert(parts.begin(), [&] { sample_->replay = std::make_unique<const Replay>(arrivals, *sample_->match); });
  }
  executor.ParallelFor(parts.size(), [&](size_t i) { parts[i](); });
  return absl::OkStatus();
}

std::unique_ptr<const CrossRank> CrossRankSums::Finish(const RunMatch& match, const AnalysisOptions& options) {
  LOCKSTEP_CHECK(sample_->replay != nullptr);
  CrossRank& out = *sample_;
  out.blame = blame_.Finish();
  const TestedLateness tested = lateness_.Finish(ranks_, match, options.layout);
  out.stragglers = FindStragglers({run_, ranks_, *out.match, out.graph, *out.replay, out.blame}, tested);
  return std::move(sample_);
}

}  // namespace lockstep
