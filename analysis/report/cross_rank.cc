#include "analysis/report/cross_rank.h"

#include <functional>
#include <utility>
#include <vector>

#include "analysis/base/check.h"
#include "analysis/base/executor.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/instance_source.h"

namespace lockstep {

absl::Status CrossRankSums::Add(const Chapter& chapter, InstanceSource& instances,
                                std::shared_ptr<const MatchResult> sample, Executor& executor) {
  LOCKSTEP_ASSIGN_OR_RETURN(ArrivalGraph graph, LoadArrivalGraph(run_, instances, ranks_, chapter.match, executor));
  const auto stands_for_all = sample == nullptr ? nullptr : std::make_shared<CrossRankSample>();
  if (stands_for_all != nullptr) {
    stands_for_all->graph = std::move(graph);
    stands_for_all->match = std::move(sample);
  }
  const ArrivalGraph& arrivals = stands_for_all != nullptr ? stands_for_all->graph : graph;
  // The longest first: none needs another.
  std::vector<std::function<void()>> parts = {
      [&] { blame_.Add(chapter, arrivals); },
      [&] { lateness_.Add(chapter, arrivals); },
  };
  if (stands_for_all != nullptr) {
    parts.insert(parts.begin(), [&] {
      stands_for_all->replay = std::make_unique<const Replay>(arrivals, *stands_for_all->match, executor);
    });
    parts.emplace_back([&] { SumLateness(*stands_for_all); });
  }
  executor.ParallelFor(parts.size(), [&](size_t i) { parts[i](); });
  if (stands_for_all != nullptr) sample_ = stands_for_all;
  return absl::OkStatus();
}

absl::Status CrossRankSums::SetSample(std::shared_ptr<const MatchResult> match, std::shared_ptr<InstanceSource> rows,
                                      Executor& executor) {
  auto sample = std::make_shared<CrossRankSample>();
  sample->match = std::move(match);
  LOCKSTEP_ASSIGN_OR_RETURN(sample->graph, LoadArrivalGraph(run_, *rows, ranks_, *sample->match, executor));
  rows = nullptr;  // the graph has what is needed of them, and the replay needs their room
  executor.ParallelFor(2, [&](size_t part) {
    if (part == 0) sample->replay = std::make_unique<const Replay>(sample->graph, *sample->match, executor);
    if (part == 1) SumLateness(*sample);
  });
  sample_ = std::move(sample);
  return absl::OkStatus();
}

// Of the sample alone, where there is more of the run.
void CrossRankSums::SumLateness(CrossRankSample& sample) const {
  if (!sample_is_a_part_) return;
  auto lateness = std::make_unique<LatenessSums>(ranks_.ranks.size(), RunExtent{});
  lateness->Add(Chapter{*sample.match}, sample.graph);
  sample.lateness = std::move(lateness);
}

std::unique_ptr<const CrossRank> CrossRankSums::Finish(const RunMatch& match, const AnalysisOptions& options,
                                                       Executor& executor) {
  LOCKSTEP_CHECK(sample_ != nullptr);
  auto out = std::make_unique<CrossRank>();
  out->sample = sample_;
  out->blame = blame_.Finish();
  const TestedLateness tested = lateness_.Finish(ranks_, match, options.layout);
  StragglerInput input{
      run_, ranks_, *sample_->match, sample_->graph, *sample_->replay, out->blame, &sample_->what_ifs, &executor};
  TestedLateness of_sample;
  if (sample_->lateness != nullptr) {
    of_sample = LatenessSums(*sample_->lateness).FinishUnjudged(ranks_, match, options.layout, tested.late);
    input.replayed = &of_sample;
  }
  out->stragglers = FindStragglers(input, tested);
  return out;
}

}  // namespace lockstep
