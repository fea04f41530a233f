#include "analysis/report/run_chapters.h"

#include <algorithm>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep {

RunChapters::RunChapters(const RunData& run, InstanceSource& instances, const RankResolution& ranks,
                         const ChapterLimits& limits, Executor& executor)
    : run_(run),
      instances_(&instances),
      ranks_(ranks),
      executor_(&executor),
      matcher_(run, ranks,
               CountInstances(run, ranks) <= limits.whole_rows ? RunMatcher::Extent::kWhole
                                                               : RunMatcher::Extent::kStretches),
      counts_(ranks) {
  if (CountInstances(run, ranks) <= limits.whole_rows) return;
  reader_ = std::make_unique<ChapterReader>(run, ranks, limits);
}

RunChapters::RunChapters(const RunData& run, const RankResolution& ranks, const ChapterLimits& limits)
    : run_(run),
      ranks_(ranks),
      grows_(true),
      matcher_(run, ranks, RunMatcher::Extent::kStretches),
      counts_(ranks),
      reader_(std::make_unique<ChapterReader>(run, ranks, limits)) {}

RunChapters::RunChapters(const RunChapters& other, Executor& executor)
    : run_(other.run_),
      ranks_(other.ranks_),
      executor_(&executor),
      matcher_(other.matcher_),
      counts_(other.counts_),
      breaks_(other.breaks_),
      reader_(std::make_unique<ChapterReader>(*other.reader_)),
      run_match_(other.run_match_),
      span_(other.span_),
      next_index_(other.next_index_),
      has_sample_(other.has_sample_),
      sample_span_(other.sample_span_) {}

absl::Status RunChapters::Continue(InstanceSource& instances, Executor& executor) {
  instances_ = &instances;
  executor_ = &executor;
  return reader_->Open(instances, run_, true);
}

absl::Status RunChapters::ReadAll() { return reader_->ReadAll(*executor_); }

void RunChapters::Pause() {
  chapter_ = nullptr;
  matched_ = nullptr;
  reader_->Close();
  instances_ = nullptr;
  executor_ = nullptr;
}

int64_t RunChapters::Untaken() const { return CountInstances(run_, ranks_) - reader_->Taken(); }

absl::Status RunChapters::Open() {
  constexpr AlignedTime kBeginning{INT64_MIN / 2};
  if (reader_ != nullptr && !grows_) LOCKSTEP_RETURN_IF_ERROR(reader_->Open(*instances_, run_, false));
  if (reader_ != nullptr) LOCKSTEP_RETURN_IF_ERROR(reader_->ReadFirst(*executor_));
  if (grows_ && !reader_->HasRowsOfAll()) return absl::UnavailableError("ranks of the run have not begun");
  LOCKSTEP_ASSIGN_OR_RETURN(MatchResult matched, matcher_.Match(rows(), kBeginning, *executor_));
  run_match_ = matched;
  if (reader_ == nullptr) {
    matched_ = std::make_shared<const MatchResult>(std::move(matched));
    counts_.Add(Chapter{*matched_});
    counts_.Finish(run_match_);
    return absl::OkStatus();
  }
  run_match_.breaks.clear();
  span_ = SpanOf(run_, ranks_, run_match_.clock);
  span_.end_ns = std::max(span_.end_ns, span_.start_ns + 1);
  return absl::OkStatus();
}

absl::StatusOr<bool> RunChapters::Next() { return reader_ == nullptr ? Whole() : NextStretch(); }

absl::StatusOr<bool> RunChapters::Whole() {
  if (chapter_ != nullptr) return false;
  chapter_ = std::make_unique<const Chapter>(Chapter{*matched_});
  is_sample_ = true;
  return true;
}

absl::StatusOr<bool> RunChapters::NextStretch() {
  chapter_ = nullptr;
  matched_ = nullptr;
  LOCKSTEP_ASSIGN_OR_RETURN(const bool more, grows_ ? reader_->ReadSettled(matcher_.clock(), *executor_)
                                                    : reader_->ReadNext(matcher_.clock(), *executor_));
  if (!more) return false;
  LOCKSTEP_ASSIGN_OR_RETURN(MatchResult matched, matcher_.Match(reader_->rows(), reader_->from(), *executor_));
  Number(matched);
  run_match_.communicators = matched.communicators;
  run_match_.clock = matcher_.clock();
  matched_ = std::make_shared<const MatchResult>(std::move(matched));
  chapter_ = std::make_unique<const Chapter>(Chapter{*matched_, reader_->own()});
  executor_->ParallelFor(2, [&](size_t part) {
    if (part == 0) return counts_.Add(*chapter_);
    ForEachOwn(*chapter_, [&](const MatchedInstance& instance) { breaks_.Add(instance); });
  });
  if (reader_->is_last()) {
    counts_.Finish(run_match_);
    run_match_.breaks = breaks_.Finish();
  }
  is_sample_ = StandsForTheRun();
  has_sample_ = has_sample_ || is_sample_;
  if (is_sample_) {
    sample_span_ = {std::max(reader_->from().ns, span_.start_ns), std::min(reader_->to().ns, span_.end_ns)};
  }
  return true;
}

bool RunChapters::StandsForTheRun() const {
  if (!grows_) return !has_sample_ && reader_->to().ns > span_.start_ns + span_ns() / 2;
  return !has_sample_ || reader_->to().ns - span_.start_ns > 2 * (sample_span_.end_ns - span_.start_ns);
}

// Own instances count on from those of the chapters before; the others have no number here.
void RunChapters::Number(MatchResult& matched) {
  const Chapter chapter{matched, reader_->own()};
  next_index_.resize(matched.communicators.size());
  for (MatchedInstance& instance : matched.instances) {
    instance.index = chapter.Owns(instance) ? next_index_[instance.communicator]++ : -1;
  }
}

}  // namespace lockstep
