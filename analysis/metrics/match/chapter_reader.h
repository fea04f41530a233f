// Cuts the instances of a run that is too large to be held at once into chapters: stretches of time, read one after the
// other, each row once.
//
// A chapter ends where little is under way on any rank. Besides its own rows it has those of its neighbours near its
// ends: at least a thirty-second of its length, and as far as collectives reach over the cut. Rows that are read but
// not yet of a chapter are kept; how many are read ahead goes by each rank's part of all rows. Memory: a few chapters'
// rows.
//
// Of a run that still grows only settled chapters are read: those before what has come of all ranks that are not
// complete. It is opened again for each snapshot of the run, and a copy takes the rest as if nothing more came.
// Pure. Not thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/chapter.h"
#include "analysis/metrics/run/chapter_limits.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// Instances of a source, and of all, as far as their counts can be believed.
[[nodiscard]] int64_t BelievedCount(const SourceData& source);
[[nodiscard]] int64_t CountInstances(const RunData& run, const RankResolution& ranks);

class ChapterCursor;

class ChapterReader {
 public:
  // Borrows the ranks. Of a run with instances.
  ChapterReader(const RunData& run, const RankResolution& ranks, const ChapterLimits& limits);
  // Of some ranks alone: the others have no rows.
  ChapterReader(const RunData& run, const RankResolution& ranks, const ChapterLimits& limits,
                std::vector<size_t> members);
  // Has what the other one has read, and reads no more.
  ChapterReader(const ChapterReader& other);
  ~ChapterReader();
  ChapterReader& operator=(const ChapterReader&) = delete;

  // Before all others: goes on behind what was read, of the sources of the ranks. `growing`: those that are not
  // complete will have more. Errors: those of InstanceSource::OpenBehind.
  [[nodiscard]] absl::Status Open(InstanceSource& instances, const RunData& run, bool growing);
  // Lets go of the instances.
  void Close();

  // The first rows of every rank, about a chapter's: what the clocks are first known from. They are of no chapter yet.
  [[nodiscard]] absl::Status ReadFirst(Executor& executor);
  // Only these: each rank's instances are let go of as soon as they are there, and with them what the store has
  // unpacked beyond. Nothing can be read after.
  [[nodiscard]] absl::Status ReadOnlyFirst(Executor& executor);
  // The next chapter; false: there is none. `clock`: as known so far. Errors: those of the instances.
  [[nodiscard]] absl::StatusOr<bool> ReadNext(const ClockModel& clock, Executor& executor);

  // The next settled chapter, if there is one yet; it is never the last one.
  [[nodiscard]] absl::StatusOr<bool> ReadSettled(const ClockModel& clock, Executor& executor);
  // All that is there.
  [[nodiscard]] absl::Status ReadAll(Executor& executor);
  // Rows that were some chapter's own.
  [[nodiscard]] int64_t Taken() const;
  // Whether no rank lacks rows of which some will come.
  [[nodiscard]] bool HasRowsOfAll() const;

  [[nodiscard]] const std::vector<size_t>& members() const { return members_; }
  // Of what was read last. The rows stay as they are while the reader goes on.
  [[nodiscard]] const std::shared_ptr<InstanceSource>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<RowRange>& own() const { return own_; }  // counted within rows()
  [[nodiscard]] AlignedTime from() const { return AlignedTime{from_ns_}; }
  [[nodiscard]] AlignedTime to() const { return AlignedTime{to_ns_}; }
  [[nodiscard]] bool is_last() const { return to_ns_ == INT64_MAX; }

 private:
  // read(place) of each cursor.
  [[nodiscard]] absl::Status ReadEach(const std::function<absl::Status(size_t)>& read, Executor& executor);
  [[nodiscard]] absl::Status ReadAhead(const std::vector<int64_t>& wanted, Executor& executor);
  [[nodiscard]] std::vector<int64_t> FirstWanted() const;
  void ShowFirst(const std::vector<int64_t>& wanted);
  [[nodiscard]] absl::Status Fill(const ClockModel& clock, Executor& executor);
  [[nodiscard]] absl::StatusOr<bool> FillSettled(const ClockModel& clock, Executor& executor);
  [[nodiscard]] absl::Status FillTo(const ClockModel& clock, int64_t aligned_ns, Executor& executor);
  [[nodiscard]] int64_t Horizon(const ClockModel& clock) const;
  [[nodiscard]] int64_t RowsBefore(const ClockModel& clock, int64_t aligned_ns) const;
  [[nodiscard]] int64_t Remaining() const;
  [[nodiscard]] int64_t LastStart(const ClockModel& clock) const;
  [[nodiscard]] int64_t FirstStart(const ClockModel& clock) const;
  [[nodiscard]] int64_t Reach(const ClockModel& clock, int64_t aligned_ns) const;
  [[nodiscard]] int64_t TimeOf(const ClockModel& clock, int64_t rows, int64_t begin, int64_t end) const;
  void ChooseEnd(const ClockModel& clock, Executor& executor);
  void Take(const ClockModel& clock);
  void ShowWindows();
  void ForgetTaken(Executor& executor);
  [[nodiscard]] int32_t RankOf(size_t member) const { return static_cast<int32_t>(members_[member]); }

  const RankResolution& ranks_;
  const std::vector<size_t> members_;  // rank indices, ascending
  const int64_t chapter_rows_;
  std::vector<double> share_;                            // by member: part of all rows
  std::vector<std::unique_ptr<ChapterCursor>> cursors_;  // by member
  std::shared_ptr<InstanceSource> rows_;
  std::vector<RowRange> own_;        // by rank index
  int64_t from_ns_ = INT64_MIN / 2;  // aligned
  int64_t to_ns_ = INT64_MIN / 2;
  int64_t lead_ns_ = 0;  // how far collectives reach over `from`, or more; `tail` likewise
  int64_t tail_ns_ = 0;
  int64_t chapters_ = 0;
};

}  // namespace lockstep
