#include "analysis/metrics/match/chapter_reader.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "analysis/metrics/match/chapter_cursor.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"

namespace lockstep {
namespace {

constexpr int64_t kMarginOneIn = 32;  // of a chapter's length, at each end
constexpr int64_t kLeastRowsOneIn = 8;
constexpr int64_t kMostMarginOneIn = 2;
constexpr int64_t kReadAheadPercent = 150;
constexpr int64_t kSpareRows = 64;
constexpr int64_t kMostChaptersAhead = 8;  // of rows, where they are not in the order of their starts
constexpr int64_t kMostReachNs = kMaxAbsTimeNs / 4;
constexpr int64_t kForever = INT64_MAX;

int64_t Percent(int64_t value, int64_t percent) { return value / 100 * percent + value % 100 * percent / 100; }

std::vector<size_t> AllOf(const RankResolution& ranks) {
  std::vector<size_t> out(ranks.ranks.size());
  std::iota(out.begin(), out.end(), size_t{0});
  return out;
}

}  // namespace

int64_t BelievedCount(const SourceData& source) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return std::clamp<int64_t>(source.instance_count, 0, kMost);
}

int64_t CountInstances(const RunData& run, const RankResolution& ranks) {
  int64_t sum = 0;
  for (const ResolvedRank& rank : ranks.ranks) sum += BelievedCount(run.sources[rank.source]);
  return sum;
}

ChapterReader::ChapterReader(const RunData& run, const RankResolution& ranks, const ChapterLimits& limits)
    : ChapterReader(run, ranks, limits, AllOf(ranks)) {}

ChapterReader::ChapterReader(const RunData& run, const RankResolution& ranks, const ChapterLimits& limits,
                             std::vector<size_t> members)
    : ranks_(ranks),
      members_(std::move(members)),
      chapter_rows_(std::max(limits.chapter_rows, limits.least_of_rank * static_cast<int64_t>(members_.size()))),
      rows_(std::make_shared<ChapterRows>()),
      own_(ranks.ranks.size(), RowRange{0, 0}) {
  int64_t all = 0;
  for (const size_t rank : members_) all += BelievedCount(run.sources[ranks.ranks[rank].source]);
  for (const size_t rank : members_) {
    share_.push_back(static_cast<double>(BelievedCount(run.sources[ranks.ranks[rank].source])) /
                     static_cast<double>(std::max<int64_t>(1, all)));
    cursors_.push_back(std::make_unique<ChapterCursor>());
  }
}

ChapterReader::ChapterReader(const ChapterReader& other)
    : ranks_(other.ranks_),
      members_(other.members_),
      chapter_rows_(other.chapter_rows_),
      share_(other.share_),
      rows_(other.rows_),
      own_(other.own_),
      from_ns_(other.from_ns_),
      to_ns_(other.to_ns_),
      lead_ns_(other.lead_ns_),
      tail_ns_(other.tail_ns_),
      chapters_(other.chapters_) {
  for (const auto& cursor : other.cursors_) cursors_.push_back(std::make_unique<ChapterCursor>(*cursor));
}

ChapterReader::~ChapterReader() = default;

absl::Status ChapterReader::Open(InstanceSource& instances, const RunData& run, bool growing) {
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const size_t source = ranks_.ranks[members_[r]].source;
    LOCKSTEP_RETURN_IF_ERROR(cursors_[r]->Open(instances, source, growing, !growing || run.sources[source].complete));
  }
  return absl::OkStatus();
}

void ChapterReader::Close() {
  for (const auto& cursor : cursors_) cursor->Close();
}

absl::Status ChapterReader::ReadEach(const std::function<absl::Status(size_t)>& read, Executor& executor) {
  std::vector<absl::Status> done(cursors_.size());
  executor.ParallelFor(done.size(), [&](size_t r) { done[r] = read(r); });
  for (const absl::Status& status : done) LOCKSTEP_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

// Until each rank has so many rows that are of no chapter yet, or none more.
absl::Status ChapterReader::ReadAhead(const std::vector<int64_t>& wanted, Executor& executor) {
  return ReadEach([&](size_t r) { return cursors_[r]->ReadTo(cursors_[r]->own_last + wanted[r]); }, executor);
}

std::vector<int64_t> ChapterReader::FirstWanted() const {
  std::vector<int64_t> wanted;
  for (const double share : share_) {
    wanted.push_back(kSpareRows + static_cast<int64_t>(share * static_cast<double>(chapter_rows_)));
  }
  return wanted;
}

absl::Status ChapterReader::ReadFirst(Executor& executor) {
  const std::vector<int64_t> wanted = FirstWanted();
  LOCKSTEP_RETURN_IF_ERROR(ReadAhead(wanted, executor));
  ShowFirst(wanted);
  return absl::OkStatus();
}

absl::Status ChapterReader::ReadOnlyFirst(Executor& executor) {
  const std::vector<int64_t> wanted = FirstWanted();
  const auto read_and_close = [&](size_t r) {
    absl::Status status = cursors_[r]->ReadTo(wanted[r]);
    cursors_[r]->Close();
    return status;
  };
  LOCKSTEP_RETURN_IF_ERROR(ReadEach(read_and_close, executor));
  ShowFirst(wanted);
  return absl::OkStatus();
}

void ChapterReader::ShowFirst(const std::vector<int64_t>& wanted) {
  for (size_t r = 0; r < cursors_.size(); ++r) {
    cursors_[r]->window_last = std::min(cursors_[r]->end(), wanted[r]);
    own_[members_[r]] = {0, cursors_[r]->window_last};
  }
  ShowWindows();
}

absl::Status ChapterReader::ReadAll(Executor& executor) {
  return ReadAhead(std::vector<int64_t>(cursors_.size(), INT64_MAX / 2), executor);
}

bool ChapterReader::HasRowsOfAll() const {
  return std::all_of(cursors_.begin(), cursors_.end(),
                     [](const auto& cursor) { return cursor->ended() || cursor->end() > 0; });
}

// Up to here the rows of all ranks are read.
int64_t ChapterReader::Horizon(const ClockModel& clock) const {
  int64_t horizon = kForever;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    if (cursors_[r]->ended()) continue;
    horizon = std::min(horizon, clock.Align(RankOf(r), LocalTime{cursors_[r]->reached_ns()}).ns);
  }
  return horizon;
}

int64_t ChapterReader::RowsBefore(const ClockModel& clock, int64_t aligned_ns) const {
  int64_t rows = 0;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const int64_t local = clock.ToLocal(RankOf(r), AlignedTime{aligned_ns}).ns;
    rows += std::max<int64_t>(0, cursors_[r]->RowAt(local) - cursors_[r]->own_last);
  }
  return rows;
}

int64_t ChapterReader::Remaining() const {
  int64_t rows = 0;
  for (const auto& cursor : cursors_) rows += cursor->end() - cursor->own_last;
  return rows;
}

int64_t ChapterReader::Taken() const {
  int64_t rows = 0;
  for (const auto& cursor : cursors_) rows += cursor->own_last;
  return rows;
}

int64_t ChapterReader::FirstStart(const ClockModel& clock) const {
  int64_t first = kForever;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const ChapterCursor& cursor = *cursors_[r];
    if (cursor.own_last >= cursor.end()) continue;
    const LocalTime start{cursor.Row(cursor.own_last).start_ns};
    first = std::min(first, clock.Align(RankOf(r), start).ns);
  }
  return first;
}

int64_t ChapterReader::LastStart(const ClockModel& clock) const {
  int64_t last = INT64_MIN;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const ChapterCursor& cursor = *cursors_[r];
    if (cursor.own_last >= cursor.end()) continue;
    last = std::max(last, clock.Align(RankOf(r), LocalTime{cursor.reached_ns()}).ns);
  }
  return last;
}

// How long before this time what is under way then began, or how long it goes on, at most; of the last rows of each
// rank.
int64_t ChapterReader::Reach(const ClockModel& clock, int64_t aligned_ns) const {
  constexpr int64_t kLookBack = 64;
  int64_t reach = 0;
  for (size_t r = 0; r < cursors_.size(); ++r) {
    const ChapterCursor& cursor = *cursors_[r];
    const int64_t local = clock.ToLocal(RankOf(r), AlignedTime{aligned_ns}).ns;
    const int64_t end = cursor.RowAt(local);
    for (int64_t row = std::max(cursor.first(), end - kLookBack); row < end;) {
      const std::span<const InstanceRow> block = cursor.BlockAt(row, end);
      for (const InstanceRow& it : block) {
        if (it.end_ns() > local) reach = std::max({reach, local - it.start_ns, it.end_ns() - local});
      }
      row += static_cast<int64_t>(block.size());
    }
  }
  return std::min(reach, kMostReachNs);
}

// Reads until a stretch of time with about a chapter's rows is there on all ranks.
absl::Status ChapterReader::Fill(const ClockModel& clock, Executor& executor) {
  std::vector<int64_t> wanted;
  for (const double share : share_) {
    const auto ahead = static_cast<double>(Percent(chapter_rows_, kReadAheadPercent));
    wanted.push_back(kSpareRows + static_cast<int64_t>(share * ahead));
  }
  LOCKSTEP_RETURN_IF_ERROR(ReadAhead(wanted, executor));
  while (Remaining() < kMostChaptersAhead * chapter_rows_) {
    const int64_t horizon = Horizon(clock);
    // A rank that is busier here than elsewhere must not make chapters of nearly nothing.
    if (horizon == kForever || RowsBefore(clock, horizon) >= chapter_rows_ / kLeastRowsOneIn) break;
    const int64_t rows = Remaining();
    LOCKSTEP_RETURN_IF_ERROR(FillTo(clock, horizon + 1, executor));
    if (Remaining() == rows) break;  // no more have come
  }
  return absl::OkStatus();
}

// Reads until more than a chapter's rows are there on all ranks; false: they have not come yet.
absl::StatusOr<bool> ChapterReader::FillSettled(const ClockModel& clock, Executor& executor) {
  LOCKSTEP_RETURN_IF_ERROR(Fill(clock, executor));
  while (true) {
    const int64_t horizon = Horizon(clock);
    if (horizon == kForever) return Remaining() > Percent(chapter_rows_, kReadAheadPercent);
    const int64_t rows = RowsBefore(clock, horizon);
    if (rows - rows / kMarginOneIn >= chapter_rows_) return true;
    const int64_t before = Remaining();
    LOCKSTEP_RETURN_IF_ERROR(FillTo(clock, horizon + 1, executor));
    if (Remaining() == before) return false;
  }
}

// Reads on where the rows of a rank end before this time: once, twice as many as it has.
absl::Status ChapterReader::FillTo(const ClockModel& clock, int64_t aligned_ns, Executor& executor) {
  std::vector<int64_t> wanted(cursors_.size());
  for (size_t r = 0; r < wanted.size(); ++r) {
    const ChapterCursor& cursor = *cursors_[r];
    if (clock.Align(RankOf(r), LocalTime{cursor.reached_ns()}).ns >= aligned_ns) continue;
    wanted[r] = kSpareRows + 2 * (cursor.end() - cursor.own_last);
  }
  return ReadAhead(wanted, executor);
}

// About when so many rows from `begin` on have started.
int64_t ChapterReader::TimeOf(const ClockModel& clock, int64_t rows, int64_t begin, int64_t end) const {
  constexpr int64_t kCloseOneIn = 1'024;
  const int64_t close = (end - begin) / kCloseOneIn;
  while (end - begin > std::max<int64_t>(1, close)) {
    const int64_t middle = begin + (end - begin) / 2;
    (RowsBefore(clock, middle) < rows ? begin : end) = middle;
  }
  return end;
}

void ChapterReader::ChooseEnd(const ClockModel& clock, Executor& executor) {
  const int64_t begin = std::max(from_ns_, FirstStart(clock));
  const int64_t horizon = Horizon(clock);
  const bool all_read = horizon == kForever;
  if (all_read && Remaining() <= Percent(chapter_rows_, kReadAheadPercent)) {
    to_ns_ = kForever;
    tail_ns_ = 0;
    return;
  }
  // Where rows are not in the order of their starts there may be no stretch that is read on all ranks.
  int64_t end = all_read ? kForever : horizon;
  if (end == kForever || RowsBefore(clock, end) == 0) end = LastStart(clock) + 1;
  end = std::max(end, begin + 1);
  const int64_t rows = std::min(RowsBefore(clock, end) - RowsBefore(clock, end) / kLeastRowsOneIn, chapter_rows_);
  // Of some moments near the end that at which least is under way.
  constexpr size_t kMoments = 8;
  constexpr int64_t kMomentsOneIn = 32;                       // of the rows, between two of them
  std::array<std::pair<int64_t, int64_t>, kMoments> moments;  // and the reach there
  executor.ParallelFor(kMoments, [&](size_t i) {
    const int64_t moment = TimeOf(clock, rows - rows / kMomentsOneIn * static_cast<int64_t>(i), begin, end);
    moments[i] = {moment, Reach(clock, moment)};
  });
  int64_t best_reach = kForever;
  for (const auto& [moment, reach] : moments) {
    if (reach >= best_reach) continue;
    best_reach = reach;
    to_ns_ = moment;
  }
  const int64_t length = std::max<int64_t>(1, to_ns_ - begin);
  tail_ns_ = std::clamp(2 * best_reach, 1 + length / kMarginOneIn, 1 + length / kMostMarginOneIn);
}

void ChapterReader::Take(const ClockModel& clock) {
  for (size_t r = 0; r < cursors_.size(); ++r) {
    ChapterCursor& cursor = *cursors_[r];
    const auto row_at = [&](int64_t aligned_ns) {
      return cursor.RowAt(clock.ToLocal(RankOf(r), AlignedTime{aligned_ns}).ns);
    };
    const int64_t first = cursor.own_last;
    const bool last = to_ns_ == kForever;
    cursor.own_last = last ? cursor.end() : std::max(first, row_at(to_ns_));
    cursor.window_last = last ? cursor.end() : std::max(cursor.own_last, row_at(to_ns_ + tail_ns_));
    cursor.window_first = chapters_ == 1 ? 0 : std::min(first, row_at(from_ns_ - lead_ns_));
    own_[members_[r]] = {first - cursor.window_first, cursor.own_last - cursor.window_first};
    // The next chapter begins so far back.
    cursor.keep_from = last ? cursor.end() : std::min(cursor.own_last, row_at(to_ns_ - tail_ns_));
  }
  ShowWindows();
}

void ChapterReader::ShowWindows() {
  auto rows = std::make_shared<ChapterRows>();
  for (size_t r = 0; r < cursors_.size(); ++r) rows->Add(ranks_.ranks[members_[r]].source, cursors_[r]->Window());
  rows_ = std::move(rows);
}

void ChapterReader::ForgetTaken(Executor& executor) {
  if (chapters_ == 0) return;
  rows_ = std::make_shared<ChapterRows>();
  executor.ParallelFor(cursors_.size(), [&](size_t r) { cursors_[r]->Forget(cursors_[r]->keep_from); });
}

absl::StatusOr<bool> ChapterReader::ReadSettled(const ClockModel& clock, Executor& executor) {
  ForgetTaken(executor);
  LOCKSTEP_ASSIGN_OR_RETURN(const bool filled, FillSettled(clock, executor));
  if (!filled) return false;
  const int64_t to_ns = to_ns_;
  const int64_t tail_ns = tail_ns_;
  from_ns_ = to_ns_;
  ChooseEnd(clock, executor);
  if (to_ns_ == kForever || Horizon(clock) < to_ns_ + tail_ns_) {
    to_ns_ = to_ns;
    tail_ns_ = tail_ns;
    return false;
  }
  ++chapters_;
  lead_ns_ = tail_ns;
  Take(clock);
  return true;
}

absl::StatusOr<bool> ChapterReader::ReadNext(const ClockModel& clock, Executor& executor) {
  if (to_ns_ == kForever) return false;
  ForgetTaken(executor);
  from_ns_ = to_ns_;
  lead_ns_ = tail_ns_;
  ++chapters_;
  LOCKSTEP_RETURN_IF_ERROR(Fill(clock, executor));
  ChooseEnd(clock, executor);
  while (to_ns_ != kForever && Horizon(clock) < to_ns_ + tail_ns_ && Remaining() < kMostChaptersAhead * chapter_rows_) {
    LOCKSTEP_RETURN_IF_ERROR(FillTo(clock, to_ns_ + tail_ns_, executor));
  }
  Take(clock);
  return true;
}

}  // namespace lockstep
