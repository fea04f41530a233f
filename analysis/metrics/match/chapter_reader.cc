#include "analysis/metrics/match/chapter_reader.h"

#include <algorithm>
#include <span>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

constexpr int64_t kMarginOneIn = 8;  // of a chapter's length, at each end
constexpr int64_t kMostMarginOneIn = 2;
constexpr int64_t kReadAheadPercent = 150;
constexpr int64_t kFewRows = 64;
constexpr int64_t kForever = INT64_MAX;

int64_t BelievedCount(const SourceData& source) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return std::clamp<int64_t>(source.instance_count, 0, kMost);
}

int64_t Percent(int64_t value, int64_t percent) { return value / 100 * percent + value % 100 * percent / 100; }

}  // namespace

int64_t CountInstances(const RunData& run, const RankResolution& ranks) {
  int64_t sum = 0;
  for (const ResolvedRank& rank : ranks.ranks) sum += BelievedCount(run.sources[rank.source]);
  return sum;
}

// The rows of one rank that were read and are still needed. Rows are numbered as in the source's stream.
class ChapterReader::Cursor {
 public:
  absl::Status Open(InstanceSource& instances, size_t source) {
    LOCKSTEP_ASSIGN_OR_RETURN(stream_, instances.Open(source));
    return absl::OkStatus();
  }

  absl::Status ReadTo(int64_t end) {
    while (!done_ && end_ < end) {
      LOCKSTEP_ASSIGN_OR_RETURN(std::vector<InstanceRow> block, stream_->Take());
      done_ = block.empty();
      if (done_) break;
      end_ += static_cast<int64_t>(block.size());
      blocks_.push_back(std::move(block));
    }
    return absl::OkStatus();
  }

  void Forget(int64_t before) {
    while (!blocks_.empty() && first_ + static_cast<int64_t>(blocks_.front().size()) <= before) {
      first_ += static_cast<int64_t>(blocks_.front().size());
      blocks_.pop_front();
    }
  }

  // The first kept row that starts at this time or later.
  [[nodiscard]] int64_t RowAt(int64_t start_ns) const {
    int64_t row = first_;
    for (const std::vector<InstanceRow>& block : blocks_) {
      if (block.back().start_ns < start_ns) {
        row += static_cast<int64_t>(block.size());
        continue;
      }
      const auto at = std::lower_bound(block.begin(), block.end(), start_ns,
                                       [](const InstanceRow& r, int64_t t) { return r.start_ns < t; });
      return row + (at - block.begin());
    }
    return row;
  }

  [[nodiscard]] const InstanceRow& Row(int64_t row) const {
    row -= first_;
    auto block = blocks_.begin();
    for (; row >= static_cast<int64_t>(block->size()); ++block) row -= static_cast<int64_t>(block->size());
    return (*block)[static_cast<size_t>(row)];
  }

  // Of the rows [first, last) those of one block, from `first` on.
  [[nodiscard]] std::span<const InstanceRow> BlockAt(int64_t first, int64_t last) const {
    int64_t row = first_;
    for (const std::vector<InstanceRow>& block : blocks_) {
      const int64_t next = row + static_cast<int64_t>(block.size());
      if (first < next && first < last) {
        return std::span(block).subspan(static_cast<size_t>(first - row),
                                        static_cast<size_t>(std::min(last, next) - first));
      }
      row = next;
    }
    return {};
  }

  [[nodiscard]] int64_t first() const { return first_; }
  [[nodiscard]] int64_t end() const { return end_; }
  [[nodiscard]] bool done() const { return done_; }

  int64_t window_first = 0;  // of the chapter
  int64_t window_last = 0;
  int64_t own_last = 0;  // the next chapter's own rows begin here

 private:
  std::unique_ptr<InstanceStream> stream_;
  std::deque<std::vector<InstanceRow>> blocks_;  // none is empty
  int64_t first_ = 0;
  int64_t end_ = 0;
  bool done_ = false;
};

// The windows of the cursors.
class ChapterReader::Rows final : public InstanceSource {
 public:
  Rows(const std::vector<std::unique_ptr<Cursor>>& cursors, const RankResolution& ranks) {
    for (size_t r = 0; r < ranks.ranks.size(); ++r) {
      const size_t source = ranks.ranks[r].source;
      if (of_source_.size() <= source) of_source_.resize(source + 1, nullptr);
      of_source_[source] = cursors[r].get();
    }
  }

  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override {
    return std::make_unique<Stream>(Of(source));
  }
  [[nodiscard]] int64_t FirstRow(size_t source) const override {
    const Cursor* cursor = Of(source);
    return cursor == nullptr ? 0 : cursor->window_first;
  }

 private:
  class Stream final : public InstanceStream {
   public:
    explicit Stream(const Cursor* cursor) : cursor_(cursor), row_(cursor == nullptr ? 0 : cursor->window_first) {}
    absl::StatusOr<std::vector<InstanceRow>> Take() override {
      LOCKSTEP_ASSIGN_OR_RETURN(const std::span<const InstanceRow> block, Next());
      return std::vector<InstanceRow>(block.begin(), block.end());
    }
    absl::StatusOr<std::span<const InstanceRow>> Next() override {
      if (cursor_ == nullptr) return std::span<const InstanceRow>();
      const std::span<const InstanceRow> block = cursor_->BlockAt(row_, cursor_->window_last);
      row_ += static_cast<int64_t>(block.size());
      return block;
    }

   private:
    const Cursor* cursor_;
    int64_t row_;
  };

  [[nodiscard]] const Cursor* Of(size_t source) const {
    return source < of_source_.size() ? of_source_[source] : nullptr;
  }

  std::vector<const Cursor*> of_source_;
};

ChapterReader::ChapterReader(const RunData& run, InstanceSource& instances, const RankResolution& ranks,
                             const ChapterLimits& limits)
    : ranks_(ranks),
      instances_(instances),
      chapter_rows_(std::max(limits.chapter_rows, limits.least_of_rank * static_cast<int64_t>(ranks.ranks.size()))),
      own_(ranks.ranks.size()) {
  const auto all = static_cast<double>(std::max<int64_t>(1, CountInstances(run, ranks)));
  for (const ResolvedRank& rank : ranks.ranks) {
    share_.push_back(static_cast<double>(BelievedCount(run.sources[rank.source])) / all);
    cursors_.push_back(std::make_unique<Cursor>());
  }
  rows_ = std::make_unique<Rows>(cursors_, ranks);
}

ChapterReader::~ChapterReader() = default;

InstanceSource& ChapterReader::rows() { return *rows_; }

// Until each rank has so many rows that are of no chapter yet, or none more.
absl::Status ChapterReader::ReadAhead(const std::vector<int64_t>& wanted, Executor& executor) {
  std::vector<absl::Status> done(cursors_.size());
  executor.ParallelFor(done.size(),
                       [&](size_t r) { done[r] = cursors_[r]->ReadTo(cursors_[r]->own_last + wanted[r]); });
  for (const absl::Status& status : done) LOCKSTEP_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::Status ChapterReader::ReadFirst(Executor& executor) {
  std::vector<int64_t> wanted;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    LOCKSTEP_RETURN_IF_ERROR(cursors_[r]->Open(instances_, ranks_.ranks[r].source));
    wanted.push_back(kFewRows + static_cast<int64_t>(share_[r] * static_cast<double>(chapter_rows_)));
  }
  LOCKSTEP_RETURN_IF_ERROR(ReadAhead(wanted, executor));
  for (size_t r = 0; r < cursors_.size(); ++r) {
    cursors_[r]->window_last = std::min(cursors_[r]->end(), wanted[r]);
    own_[r] = {0, cursors_[r]->window_last};
  }
  return absl::OkStatus();
}

// Up to here the rows of all ranks are read.
int64_t ChapterReader::Horizon(const ClockModel& clock) const {
  int64_t horizon = kForever;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const Cursor& cursor = *cursors_[r];
    if (cursor.done()) continue;
    const int64_t last = cursor.end() == 0 ? INT64_MIN / 2 : cursor.Row(cursor.end() - 1).start_ns;
    horizon = std::min(horizon, clock.Align(static_cast<int32_t>(r), LocalTime{last}).ns);
  }
  return horizon;
}

int64_t ChapterReader::RowsBefore(const ClockModel& clock, int64_t aligned_ns) const {
  int64_t rows = 0;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const int64_t local = clock.ToLocal(static_cast<int32_t>(r), AlignedTime{aligned_ns}).ns;
    rows += std::max<int64_t>(0, cursors_[r]->RowAt(local) - cursors_[r]->own_last);
  }
  return rows;
}

int64_t ChapterReader::Remaining() const {
  int64_t rows = 0;
  for (const auto& cursor : cursors_) rows += cursor->end() - cursor->own_last;
  return rows;
}

int64_t ChapterReader::FirstStart(const ClockModel& clock) const {
  int64_t first = kForever;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const Cursor& cursor = *cursors_[r];
    if (cursor.own_last >= cursor.end()) continue;
    const LocalTime start{cursor.Row(cursor.own_last).start_ns};
    first = std::min(first, clock.Align(static_cast<int32_t>(r), start).ns);
  }
  return first;
}

int64_t ChapterReader::LastStart(const ClockModel& clock) const {
  int64_t last = INT64_MIN;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const Cursor& cursor = *cursors_[r];
    if (cursor.own_last >= cursor.end()) continue;
    const LocalTime start{cursor.Row(cursor.end() - 1).start_ns};
    last = std::max(last, clock.Align(static_cast<int32_t>(r), start).ns);
  }
  return last;
}

// How long before this time what is under way then began, at most; of the last rows of each rank.
int64_t ChapterReader::Reach(const ClockModel& clock, int64_t aligned_ns) const {
  constexpr int64_t kLookBack = 64;
  int64_t reach = 0;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const Cursor& cursor = *cursors_[r];
    const int64_t local = clock.ToLocal(static_cast<int32_t>(r), AlignedTime{aligned_ns}).ns;
    const int64_t end = cursor.RowAt(local);
    for (int64_t row = std::max(cursor.first(), end - kLookBack); row < end; ++row) {
      const InstanceRow& it = cursor.Row(row);
      if (it.end_ns() > local) reach = std::max(reach, local - it.start_ns);
    }
  }
  return reach;
}

// Reads until a stretch of time with about a chapter's rows is there on all ranks.
absl::Status ChapterReader::Fill(const ClockModel& clock, Executor& executor) {
  std::vector<int64_t> wanted;
  for (const double share : share_) {
    wanted.push_back(kFewRows +
                     static_cast<int64_t>(share * static_cast<double>(Percent(chapter_rows_, kReadAheadPercent))));
  }
  while (true) {
    LOCKSTEP_RETURN_IF_ERROR(ReadAhead(wanted, executor));
    const int64_t horizon = Horizon(clock);
    if (horizon == kForever) return absl::OkStatus();
    // A rank that is busier here than elsewhere must not make chapters of nearly nothing.
    const int64_t ahead = RowsBefore(clock, horizon);
    if (ahead >= chapter_rows_ / kMarginOneIn) return absl::OkStatus();
    for (size_t r = 0; r < wanted.size(); ++r) {
      const Cursor& cursor = *cursors_[r];
      if (cursor.done()) continue;
      const LocalTime last{cursor.Row(cursor.end() - 1).start_ns};
      if (clock.Align(static_cast<int32_t>(r), last).ns <= horizon + 1) wanted[r] *= 2;
    }
  }
}

void ChapterReader::ChooseEnd(const ClockModel& clock) {
  const int64_t begin = std::max(from_ns_, FirstStart(clock));
  const int64_t horizon = Horizon(clock);
  const bool all_read = horizon == kForever;
  if (all_read && Remaining() <= Percent(chapter_rows_, kReadAheadPercent)) {
    to_ns_ = kForever;
    tail_ns_ = 0;
    return;
  }
  const int64_t end = all_read ? LastStart(clock) : horizon;
  int64_t length = std::max<int64_t>(1, (end - begin) - (end - begin) / (kMarginOneIn + 1));
  while (length > 1 && RowsBefore(clock, begin + length) > 2 * chapter_rows_) length /= 2;
  // Of some moments near the end that at which least is under way.
  constexpr int64_t kMoments = 8;
  int64_t best_reach = kForever;
  for (int64_t i = 0; i < kMoments; ++i) {
    const int64_t moment = begin + length - length / 4 * i / kMoments;
    const int64_t reach = Reach(clock, moment);
    if (reach >= best_reach) continue;
    best_reach = reach;
    to_ns_ = moment;
  }
  tail_ns_ = std::clamp(2 * best_reach, length / kMarginOneIn, std::max<int64_t>(1, length / kMostMarginOneIn));
}

void ChapterReader::Take(const ClockModel& clock) {
  const int64_t lead_ns = std::max(lead_ns_, tail_ns_);
  for (size_t r = 0; r < cursors_.size(); ++r) {
    Cursor& cursor = *cursors_[r];
    const auto row_at = [&](int64_t aligned_ns) {
      return cursor.RowAt(clock.ToLocal(static_cast<int32_t>(r), AlignedTime{aligned_ns}).ns);
    };
    const int64_t first = cursor.own_last;
    const bool last = to_ns_ == kForever;
    cursor.own_last = last ? cursor.end() : std::max(first, row_at(to_ns_));
    cursor.window_last = last ? cursor.end() : std::max(cursor.own_last, row_at(to_ns_ + tail_ns_));
    cursor.window_first = chapters_ == 1 ? 0 : std::min(first, row_at(from_ns_ - lead_ns));
    own_[r] = {first - cursor.window_first, cursor.own_last - cursor.window_first};
  }
}

absl::StatusOr<bool> ChapterReader::ReadNext(const ClockModel& clock, Executor& executor) {
  if (to_ns_ == kForever) return false;
  from_ns_ = to_ns_;
  lead_ns_ = tail_ns_;
  ++chapters_;
  // The next chapter's first own rows have some before them.
  for (const auto& cursor : cursors_) {
    if (chapters_ > 1) cursor->Forget(cursor->window_first);
  }
  LOCKSTEP_RETURN_IF_ERROR(Fill(clock, executor));
  ChooseEnd(clock);
  Take(clock);
  return true;
}

}  // namespace lockstep
