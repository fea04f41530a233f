// Takes a run through the matching, chapter by chapter: a small one at once, a large one in stretches of time, so that
// memory is that of a few chapters whatever the length of the run.
//
// Of a large run in which not all ranks have to do with each other, sets of ranks (rank_islands.h) are taken through
// one after the other: their chapters are small enough to stay in the caches, and one is got ready while the one before
// is summed. The sample of a large run is a stretch of all ranks, longer than chapters are, made at the end.
//
// A run that still grows is always cut, all ranks together; its settled chapters (chapter_reader.h) are taken once, as
// it grows, and a copy takes what is left for an answer. Then the sample is one of the settled chapters: the first one,
// and a newer one whenever the run is twice as long, so that it lies in the later half.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/match/chapter_reader.h"
#include "analysis/metrics/match/match_counts.h"
#include "analysis/metrics/match/run_matcher.h"
#include "analysis/metrics/match/sequence_breaks.h"
#include "analysis/metrics/match/stretch_rows.h"
#include "analysis/metrics/stragglers/test_units.h"
#include "analysis/model/instance_source.h"

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
  [[nodiscard]] int64_t Taken() const { return lanes_.front()->reader->Taken(); }
  [[nodiscard]] int64_t Untaken() const;
  // What is known of the run as a whole: after Open clocks, hosts and communicators of its beginning, after the last
  // chapter all. Stays where it is.
  [[nodiscard]] const RunMatch& match() const { return run_match_; }
  // Length of the run; 0 = one chapter is the run.
  [[nodiscard]] RunExtent extent() const { return {span_ns(), span_.start_ns, has_steps_}; }
  [[nodiscard]] int64_t span_ns() const { return whole_ ? 0 : span_.end_ns - span_.start_ns; }

  // The next chapters, of ranks that have nothing to do with each other; false: there is none.
  [[nodiscard]] absl::StatusOr<bool> Next();
  struct Current {
    Chapter chapter;
    InstanceSource& rows;
    // Its match if it stands for the run where one stretch must do. Null for all others.
    std::shared_ptr<const MatchResult> sample;
  };
  [[nodiscard]] const std::vector<Current>& current() const { return current_; }
  // Once after each Next: counts the current ones.
  void Count();
  // Makes the next chapter of a lane ready, for each below LanesAhead() once after a Next, on any thread, beside
  // whatever looks at the current ones. Errors: as of Next.
  [[nodiscard]] size_t LanesAhead() const { return current_.empty() || islands_.empty() ? 0 : lanes_.size(); }
  [[nodiscard]] absl::Status Prepare(size_t lane);
  // Rows of the current ones, of one lane.
  [[nodiscard]] InstanceSource& rows() { return *rows_; }
  // Where the sample lies on the aligned axis, within the run.
  [[nodiscard]] RunSpan sample_span() const { return sample_span_; }

  // After the last chapter, if none of them stands for the run: a stretch that does.
  struct Sample {
    std::shared_ptr<const MatchResult> matched;
    std::shared_ptr<InstanceSource> rows;
  };
  [[nodiscard]] bool sample_is_apart() const { return stretch_rows_ != nullptr; }
  [[nodiscard]] absl::StatusOr<Sample> TakeSample();

 private:
  // A matched chapter and all that it borrows.
  struct Stretch {
    std::shared_ptr<MatchResult> matched;  // null: there is none
    std::shared_ptr<InstanceSource> rows;
    std::vector<RowRange> own;
    ClockModel clock;  // as the lane knows it until here
    AlignedTime from;
    AlignedTime to;
  };
  struct Lane {
    explicit Lane(const RunMatcher& known) : matcher(known) {}
    RunMatcher matcher;
    std::unique_ptr<ChapterReader> reader;
    size_t next_island = 0;
    std::vector<size_t> members;  // of the stretches, rank indices
    std::optional<Stretch> ahead;
    Stretch stretch;
    Stretch spent;  // the one before: gone when the next one is made, on the thread that makes it
  };

  [[nodiscard]] absl::StatusOr<bool> Whole();
  [[nodiscard]] absl::StatusOr<std::shared_ptr<InstanceSource>> ReadFirst();
  [[nodiscard]] absl::StatusOr<bool> ReadOn(Lane& lane);
  void BeginSample(int64_t rows_of_step);
  [[nodiscard]] absl::Status BeginIslands();
  [[nodiscard]] absl::Status OpenIsland(Lane& lane);
  void Renumber(MatchResult& matched);
  void Adopt(Lane& lane);
  void NumberInstances();
  void Finish();
  [[nodiscard]] bool StandsForTheRun(AlignedTime to) const;

  const RunData& run_;
  InstanceSource* instances_ = nullptr;
  const RankResolution& ranks_;
  Executor* executor_ = nullptr;
  const ChapterLimits limits_;
  const bool grows_ = false;
  const bool whole_ = false;  // one chapter is the run
  MatchCounts counts_;
  BreakFinder breaks_;
  std::vector<std::unique_ptr<Lane>> lanes_;   // one, or several of the islands
  RankIslands islands_;                        // those that are taken through alone
  std::unique_ptr<StretchRows> stretch_rows_;  // to make the sample of; null: a chapter is the sample
  RunMatch run_match_;
  size_t known_communicators_ = 0;                         // by all lanes
  std::unordered_map<std::string, uint32_t> place_of_id_;  // of the others, in the run's match
  RunSpan span_;
  bool has_steps_ = false;
  std::vector<Current> current_;
  InstanceSource* rows_ = nullptr;
  std::vector<int64_t> next_index_;  // by communicator
  bool has_sample_ = false;
  RunSpan sample_span_;
};

}  // namespace lockstep
