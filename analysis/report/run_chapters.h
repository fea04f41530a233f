// Takes a run through the matching, chapter by chapter: a small one at once, a large one in stretches of time, so that
// memory is that of a few chapters whatever the length of the run.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/match/chapter_reader.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/match/match_counts.h"
#include "analysis/metrics/match/sequence_breaks.h"

namespace lockstep {

// Borrows all but the limits. Not thread safe.
class RunChapters {
 public:
  RunChapters(const RunData& run, InstanceSource& instances, const RankResolution& ranks, const ChapterLimits& limits,
              Executor& executor);

  // Before anything else. Errors, here and below: those of the instances.
  [[nodiscard]] absl::Status Open();
  // What is known of the run as a whole: after Open clocks, hosts and communicators of its beginning, after the last
  // chapter all. Stays where it is.
  [[nodiscard]] const RunMatch& match() const { return run_match_; }
  // Length of the run; 0 = one chapter is the run.
  [[nodiscard]] int64_t span_ns() const { return reader_ == nullptr ? 0 : span_.end_ns - span_.start_ns; }

  // The next chapter; false: there is none.
  [[nodiscard]] absl::StatusOr<bool> Next();
  // Of the current one:
  [[nodiscard]] const Chapter& chapter() const { return *chapter_; }
  [[nodiscard]] InstanceSource& rows() { return reader_ == nullptr ? instances_ : reader_->rows(); }
  // Its match if it stands for the run where one stretch must do: the one in the middle. Null for all others.
  [[nodiscard]] std::shared_ptr<const MatchResult> sample() const { return is_sample_ ? matched_ : nullptr; }
  // Where that lies on the aligned axis, within the run.
  [[nodiscard]] RunSpan sample_span() const { return sample_span_; }

 private:
  [[nodiscard]] absl::StatusOr<bool> NextStretch();
  [[nodiscard]] absl::StatusOr<bool> Whole();
  void Number(MatchResult& matched);

  const RunData& run_;
  InstanceSource& instances_;
  const RankResolution& ranks_;
  Executor& executor_;
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
