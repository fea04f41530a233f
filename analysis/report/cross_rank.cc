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
  ArrivalGraph& kept = sample != nullptr ? sample_->graph : graph;
  if (sample != nullptr) {
    kept = std::move(graph);
    sample_->match = std::move(sample);
  }
  // The longest first: none needs another.
  std::vector<std::function<void()>> parts = {
      [&] { blame_.Add(chapter, kept); },
      [&] { lateness_.Add(chapter, kept); },
  };
  if (&kept == &sample_->graph) {
    parts.insert(parts.begin(), [&] { sample_->replay = std::make_unique<const Replay>(kept, *sample_->match); });
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
