#include "analysis/metrics/match/chapter_cursor.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/model/instance_piece.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"

namespace lockstep {
namespace {

class WindowStream final : public InstanceStream {
 public:
  explicit WindowStream(const ChapterWindow& window) : window_(window) {}
  absl::StatusOr<std::vector<InstanceRow>> Take() override {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::span<const InstanceRow> block, Next());
    return std::vector<InstanceRow>(block.begin(), block.end());
  }
  absl::StatusOr<std::span<const InstanceRow>> Next() override {
    if (next_ == window_.parts.size()) return std::span<const InstanceRow>();
    return window_.parts[next_++].Rows();
  }

 private:
  const ChapterWindow& window_;
  size_t next_ = 0;
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

ChapterWindow ChapterCursor::Window() const {
  ChapterWindow out;
  out.first_row = window_first;
  for (auto block = BlockOf(window_first); block != blocks_.end() && block->first < window_last; ++block) {
    const int64_t first = std::max(window_first, block->first);
    const int64_t last = std::min(window_last, block->end());
    if (first >= last) continue;
    out.parts.push_back(
        {block->rows, static_cast<size_t>(first - block->first), static_cast<size_t>(last - block->first)});
    out.rows += last - first;
  }
  return out;
}

void ChapterRows::Add(size_t source, ChapterWindow window) {
  if (of_source_.size() <= source) of_source_.resize(source + 1);
  windows_.push_back(std::move(window));
  of_source_[source] = static_cast<uint32_t>(windows_.size());
}

absl::StatusOr<std::unique_ptr<InstanceStream>> ChapterRows::Open(size_t source) {
  return std::make_unique<WindowStream>(Of(source));
}

const ChapterWindow& ChapterRows::Of(size_t source) const {
  static const ChapterWindow kNone;
  const uint32_t place = source < of_source_.size() ? of_source_[source] : 0;
  return place == 0 ? kNone : windows_[place - 1];
}

}  // namespace lockstep
