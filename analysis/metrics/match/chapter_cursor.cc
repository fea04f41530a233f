#include "analysis/metrics/match/chapter_cursor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/model/instance_piece.h"

namespace lockstep {
namespace {

class WindowStream final : public InstanceStream {
 public:
  explicit WindowStream(const ChapterCursor* cursor)
      : cursor_(cursor), row_(cursor == nullptr ? 0 : cursor->window_first) {}
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
  const ChapterCursor* cursor_;
  int64_t row_;
};

}  // namespace

ChapterCursor::ChapterCursor(const ChapterCursor& other)
    : window_first(other.window_first),
      window_last(other.window_last),
      own_last(other.own_last),
      keep_from(other.keep_from),
      blocks_(other.blocks_),
      end_(other.end_),
      reached_ns_(other.reached_ns_) {}

absl::Status ChapterCursor::Open(InstanceSource& instances, size_t source, bool growing, bool complete) {
  LOCKSTEP_ASSIGN_OR_RETURN(stream_, instances.OpenBehind(source, position_));
  growing_ = growing;
  complete_ = complete;
  done_ = false;
  return absl::OkStatus();
}

void ChapterCursor::Close() {
  if (stream_ != nullptr && growing_) position_ = stream_->Position();
  stream_ = nullptr;
  done_ = true;
}

absl::Status ChapterCursor::ReadTo(int64_t end) {
  while (!done_) {
    // Where a later snapshot goes on, it does so behind what the store keeps as one.
    const bool in_midst = growing_ && (!pending_.empty() || stream_->InMidst());
    if (end_ >= end && !in_midst) break;
    if (pending_.empty()) {
      LOCKSTEP_ASSIGN_OR_RETURN(pending_, stream_->Take());
      done_ = pending_.empty();
    }
    if (!done_) AddPiece();
  }
  return absl::OkStatus();
}

// How far a chapter reaches must not hang on how much a store gives at a time.
std::vector<InstanceRow> ChapterCursor::NextPiece() {
  if (given_ == 0 && pending_.size() <= kInstancesAPiece) return std::exchange(pending_, {});
  const auto first = pending_.begin() + static_cast<std::ptrdiff_t>(given_);
  given_ = std::min(given_ + kInstancesAPiece, pending_.size());
  const auto last = pending_.begin() + static_cast<std::ptrdiff_t>(given_);
  std::vector<InstanceRow> piece(std::make_move_iterator(first), std::make_move_iterator(last));
  if (given_ == pending_.size()) {
    pending_ = {};
    given_ = 0;
  }
  return piece;
}

void ChapterCursor::AddPiece() {
  std::vector<InstanceRow> piece = NextPiece();
  std::vector<int64_t> starts;
  starts.reserve(piece.size());
  for (InstanceRow& row : piece) {
    row.start_ns = std::clamp(row.start_ns, -kMaxAbsTimeNs, kMaxAbsTimeNs);
    row.duration_ns = std::clamp<int64_t>(row.duration_ns, 0, kMaxAbsTimeNs);
    reached_ns_ = std::max(reached_ns_, row.start_ns);
    starts.push_back(row.start_ns);
  }
  blocks_.push_back({end_, reached_ns_, std::make_shared<const std::vector<InstanceRow>>(std::move(piece)),
                     std::make_shared<const std::vector<int64_t>>(std::move(starts))});
  end_ = blocks_.back().end();
}

void ChapterCursor::Forget(int64_t before) {
  while (!blocks_.empty() && blocks_.front().end() <= before) blocks_.pop_front();
}

int64_t ChapterCursor::RowAt(int64_t start_ns) const {
  const auto block =
      std::partition_point(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.reached_ns < start_ns; });
  if (block == blocks_.end()) return end_;
  const auto at = std::lower_bound(block->starts->begin(), block->starts->end(), start_ns);
  return block->first + (at - block->starts->begin());
}

const InstanceRow& ChapterCursor::Row(int64_t row) const {
  const Block& block = *BlockOf(row);
  return (*block.rows)[static_cast<size_t>(row - block.first)];
}

std::span<const InstanceRow> ChapterCursor::BlockAt(int64_t first, int64_t last) const {
  if (first >= last || first >= end_) return {};
  const Block& block = *BlockOf(first);
  return std::span(*block.rows)
      .subspan(static_cast<size_t>(first - block.first), static_cast<size_t>(std::min(last, block.end()) - first));
}

std::deque<ChapterCursor::Block>::const_iterator ChapterCursor::BlockOf(int64_t row) const {
  return std::partition_point(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.end() <= row; });
}

ChapterRows::ChapterRows(const std::vector<std::unique_ptr<ChapterCursor>>& cursors, const RankResolution& ranks) {
  for (size_t r = 0; r < ranks.ranks.size(); ++r) {
    const size_t source = ranks.ranks[r].source;
    if (of_source_.size() <= source) of_source_.resize(source + 1, nullptr);
    of_source_[source] = cursors[r].get();
  }
}

absl::StatusOr<std::unique_ptr<InstanceStream>> ChapterRows::Open(size_t source) {
  return std::make_unique<WindowStream>(Of(source));
}

int64_t ChapterRows::FirstRow(size_t source) const {
  const ChapterCursor* cursor = Of(source);
  return cursor == nullptr ? 0 : cursor->window_first;
}

int64_t ChapterRows::RowCount(size_t source) const {
  const ChapterCursor* cursor = Of(source);
  return cursor == nullptr ? 0 : std::max<int64_t>(0, cursor->window_last - cursor->window_first);
}

const ChapterCursor* ChapterRows::Of(size_t source) const {
  return source < of_source_.size() ? of_source_[source] : nullptr;
}

}  // namespace lockstep
