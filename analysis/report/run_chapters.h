// Takes a run through the matching, chapter by chapter: a small one at once, a large one in stretches of time, so that
// memory is that of a few chapters whatever the length of the run.
//
// A run that still grows is always cut; its settled chapters (chapter_reader.h) are taken once, as it grows, and a copy
// takes what is left for an answer. Then the sample is one of the settled chapters: the first one, and a newer one
// whenever the run is twice as long, so that it lies in the later half.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/match/chapter_reader.h"
#include "analysis/metrics/match/match_counts.h"
#include "analysis/metrics/match/run_matcher.h"
#include "analysis/metrics/match/sequence_breaks.h"

namespace lockstep {

// Borrows all but the limits. Not thread safe.
class RunChapters {
 public:
  RunChapters(const RunData& run, InstanceSource& instances, const RankResolution& ranks, const ChapterLimits& limits,
              Executor& executor);
  // Of a run that grows: each call below wants it continued first.
  RunChapters(const RunData& run, const RankResolution& ranks, const ChapterLimits& limits);
  // Takes what the other one, of a run that grows, has read and not taken yet.
  RunChapters(const RunChapters& other, Executor& executor);

  // Before anything else. Errors, here and below: those of the instances.
  [[nodiscard]] absl::Status Open();
  // Of a run that grows: goes on with a snapshot that has what all before it had. Errors: those of OpenBehind.
  [[nodiscard]] absl::Status Continue(InstanceSource& instances, Executor& executor);
  // ... reads all that is there, and lets go of the snapshot and the executor.
  [[nodiscard]] absl::Status ReadAll();
  void Pause();
  // ... rows that were some chapter's own, and those that are of none yet, read or not.
  [[nodiscard]] int64_t Taken() const { return reader_->Taken(); }
  [[nodiscard]] int64_t Untaken() const;
  // What is known of the run as a whole: after Open clocks, hosts and communicators of its beginning, after the last
  // chapter all. Stays where it is.
  [[nodiscard]] const RunMatch& match() const { return run_match_; }
  // Length of the run; 0 = one chapter is the run.
  [[nodiscard]] int64_t span_ns() const { return reader_ == nullptr ? 0 : span_.end_ns - span_.start_ns; }

  // The next chapter; false: there is none.
  [[nodiscard]] absl::StatusOr<bool> Next();
  // Of the current one:
  [[nodiscard]] const Chapter& chapter() const { return *chapter_; }
  [[nodiscard]] InstanceSource& rows() { return reader_ == nullptr ? *instances_ : reader_->rows(); }
  // Its match if it stands for the run where one stretch must do: the one in the middle. Null for all others.
  [[nodiscard]] std::shared_ptr<const MatchResult> sample() const { return is_sample_ ? matched_ : nullptr; }
  // Where that lies on the aligned axis, within the run.
  [[nodiscard]] RunSpan sample_span() const { return sample_span_; }

 private:
  [[nodiscard]] absl::StatusOr<bool> NextStretch();
  [[nodiscard]] absl::StatusOr<bool> Whole();
  void Number(MatchResult& matched);
  [[nodiscard]] bool StandsForTheRun() const;

  const RunData& run_;
  InstanceSource* instances_ = nullptr;
  const RankResolution& ranks_;
  Executor* executor_ = nullptr;
  bool grows_ = false;
  RunMatcher matcher_;
  MatchCounts counts_;
  BreakFinder breaks_;
  std::unique_ptr<ChapterReader> reader_;  // null: one chapter
  RunMatch run_match_;
  RunSpan span_;
  std::shared_ptr<const MatchResult> matched_;
  std::unique_ptr<const Chapter> chapter_;
  std::vector<int64_t> next_index_;  // by communicator
  bool is_sample_ = false;
  bool has_sample_ = false;
  RunSpan sample_span_;
};

}  // namespace lockstep
