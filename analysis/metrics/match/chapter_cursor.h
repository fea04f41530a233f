// The rows of one rank that a chapter reader has read and still needs, and the windows of a chapter as instances.
// Internal to the reading of chapters. Pure. Not thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "analysis/base/time.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// The rows of one rank that a chapter has, shared with what read them.
struct ChapterWindow {
  struct Part {
    std::shared_ptr<const std::vector<InstanceRow>> rows;
    size_t first = 0;
    size_t last = 0;
    [[nodiscard]] std::span<const InstanceRow> Rows() const { return std::span(*rows).subspan(first, last - first); }
  };

  int64_t first_row = 0;  // in the source's stream
  int64_t rows = 0;
  std::vector<Part> parts;  // none is empty
};

// Rows are numbered as in the source's stream.
class ChapterCursor {
 public:
  ChapterCursor() = default;
  // Has the rows that the other one has, and reads no more.
  ChapterCursor(const ChapterCursor& other);
  ChapterCursor& operator=(const ChapterCursor&) = delete;

  // Goes on behind what was read of an earlier one. `growing`: of a run of which there will be another snapshot;
  // `complete`: not even that will have more. Errors, here and below: those of the instances.
  [[nodiscard]] absl::Status Open(InstanceSource& instances, size_t source, bool growing, bool complete);
  void Close();
  // Until row `end` is there, or nothing more is.
  [[nodiscard]] absl::Status ReadTo(int64_t end);
  // Lets go of blocks that end before this row.
  void Forget(int64_t before);

  // The first kept row that starts at this time or later.
  [[nodiscard]] int64_t RowAt(int64_t start_ns) const;
  [[nodiscard]] const InstanceRow& Row(int64_t row) const;
  // Of the rows [first, last) those of one block, from `first` on.
  [[nodiscard]] std::span<const InstanceRow> BlockAt(int64_t first, int64_t last) const;
  // The rows [window_first, window_last).
  [[nodiscard]] ChapterWindow Window() const;

  [[nodiscard]] int64_t first() const { return blocks_.empty() ? end_ : blocks_.front().first; }
  [[nodiscard]] int64_t end() const { return end_; }
  // Nothing more is there, and
  [[nodiscard]] bool done() const { return done_; }
  // nothing more will come.
  [[nodiscard]] bool ended() const { return done_ && complete_; }
  // The latest start of any row read.
  [[nodiscard]] int64_t reached_ns() const { return reached_ns_; }

  int64_t window_first = 0;  // of the chapter
  int64_t window_last = 0;
  int64_t own_last = 0;   // the next chapter's own rows begin here,
  int64_t keep_from = 0;  // and its lead here

 private:
  struct Block {
    int64_t first = 0;
    int64_t reached_ns = 0;  // the latest start of its rows and all before
    // Shared with copies of the cursor:
    std::shared_ptr<const std::vector<InstanceRow>> rows;
    std::shared_ptr<const std::vector<int64_t>> starts;  // of the rows: a time is sought often
    [[nodiscard]] int64_t end() const { return first + static_cast<int64_t>(rows->size()); }
  };

  [[nodiscard]] std::deque<Block>::const_iterator BlockOf(int64_t row) const;
  [[nodiscard]] std::vector<InstanceRow> NextPiece();
  void AddPiece();

  std::unique_ptr<InstanceStream> stream_;
  InstancePosition position_;
  std::vector<InstanceRow> pending_;  // what the stream gave last, less
  size_t given_ = 0;                  // what is in blocks of it
  std::deque<Block> blocks_;          // none is empty
  int64_t end_ = 0;
  int64_t reached_ns_ = -kMaxAbsTimeNs;
  bool done_ = true;
  bool growing_ = false;
  bool complete_ = true;
};

// Windows of some sources; the others have no rows. Reading changes nothing: several threads may.
class ChapterRows final : public InstanceSource {
 public:
  void Add(size_t source, ChapterWindow window);
  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override;
  [[nodiscard]] int64_t FirstRow(size_t source) const override { return Of(source).first_row; }
  [[nodiscard]] int64_t RowCount(size_t source) const override { return Of(source).rows; }
  [[nodiscard]] const ChapterWindow& Of(size_t source) const;

 private:
  std::vector<uint32_t> of_source_;  // place among the windows + 1; 0: none
  std::vector<ChapterWindow> windows_;
};

}  // namespace lockstep
