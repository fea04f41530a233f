// A bounded external merge sort of trivially copyable records.
//
// Records are collected up to the memory budget; a full buffer is sorted and spilled as a run to an unlinked file, and
// reading merges the runs. Nothing is spilled while one run suffices. The order must be total for the result to be
// deterministic; equal records keep no particular order. One thread.
//   sorter.Add(r)...; sorter.Finish(); while (sorter.Next(r)) ...
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"
#include "platform/spill_file.h"

namespace lockstep {

template <typename Record, typename Less>
class ExternalSorter {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  ExternalSorter(std::string folder, int64_t memory_bytes, Less less = Less())
      : folder_(std::move(folder)),
        capacity_(std::max<size_t>(1024, static_cast<size_t>(memory_bytes) / sizeof(Record))),
        less_(less) {}

  absl::Status Add(const Record& record) {
    if (buffer_.size() == capacity_) LOCKSTEP_RETURN_IF_ERROR(Spill());
    if (buffer_.size() == buffer_.capacity())
      buffer_.reserve(std::min(capacity_, std::max<size_t>(1024, buffer_.size() * 2)));
    buffer_.push_back(record);
    ++count_;
    return absl::OkStatus();
  }

  absl::Status Finish() {
    std::sort(buffer_.begin(), buffer_.end(), less_);
    if (runs_.empty()) return absl::OkStatus();
    LOCKSTEP_RETURN_IF_ERROR(Spill());
    buffer_ = {};
    return Merge();
  }

  // After Finish: the next record is the first one again.
  absl::Status Rewind() {
    position_ = 0;
    heap_.clear();
    return Merge();
  }

  // False at the end.
  absl::StatusOr<bool> Next(Record& record) {
    if (runs_.empty()) {
      if (position_ == buffer_.size()) return false;
      record = buffer_[position_++];
      return true;
    }
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end(), HeapOrder{this});
    Run& run = runs_[heap_.back()];
    record = run.window[run.position++];
    if (run.position == run.window.size()) LOCKSTEP_RETURN_IF_ERROR(Refill(run));
    if (run.position == run.window.size()) {
      heap_.pop_back();
    } else {
      std::push_heap(heap_.begin(), heap_.end(), HeapOrder{this});
    }
    return true;
  }

  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] int64_t spilled_bytes() const { return file_.has_value() ? file_->size() : 0; }

 private:
  struct Run {
    int64_t first_offset = 0;
    size_t size = 0;       // records
    int64_t offset = 0;    // next byte to read
    size_t remaining = 0;  // records not yet read
    size_t share = 0;
    std::vector<Record> window;
    size_t position = 0;
  };
  struct HeapOrder {
    const ExternalSorter* self;
    bool operator()(size_t a, size_t b) const {
      const Run& ra = self->runs_[a];
      const Run& rb = self->runs_[b];
      if (self->less_(rb.window[rb.position], ra.window[ra.position])) return true;
      if (self->less_(ra.window[ra.position], rb.window[rb.position])) return false;
      return b < a;
    }
  };

  // Every run from its begin.
  absl::Status Merge() {
    if (runs_.empty()) return absl::OkStatus();
    const size_t share = std::max<size_t>(64, capacity_ / runs_.size());
    for (size_t i = 0; i < runs_.size(); ++i) {
      Run& run = runs_[i];
      run.share = share;
      run.offset = run.first_offset;
      run.remaining = run.size;
      LOCKSTEP_RETURN_IF_ERROR(Refill(run));
      heap_.push_back(i);
    }
    std::make_heap(heap_.begin(), heap_.end(), HeapOrder{this});
    return absl::OkStatus();
  }

  absl::Status Spill() {
    if (buffer_.empty()) return absl::OkStatus();
    if (!file_.has_value()) {
      LOCKSTEP_ASSIGN_OR_RETURN(SpillFile file, SpillFile::Create(folder_));
      file_.emplace(std::move(file));
    }
    std::sort(buffer_.begin(), buffer_.end(), less_);
    LOCKSTEP_ASSIGN_OR_RETURN(const int64_t offset, file_->Append(std::as_bytes(std::span(buffer_))));
    Run run;
    run.first_offset = offset;
    run.size = buffer_.size();
    runs_.push_back(std::move(run));
    buffer_.clear();
    return absl::OkStatus();
  }

  absl::Status Refill(Run& run) {
    const size_t n = std::min(run.share, run.remaining);
    run.window.resize(n);
    run.position = 0;
    if (n == 0) return absl::OkStatus();
    LOCKSTEP_RETURN_IF_ERROR(file_->Read(run.offset, std::as_writable_bytes(std::span(run.window))));
    run.offset += static_cast<int64_t>(n * sizeof(Record));
    run.remaining -= n;
    return absl::OkStatus();
  }

  std::string folder_;
  size_t capacity_;
  Less less_;
  std::vector<Record> buffer_;
  size_t position_ = 0;
  int64_t count_ = 0;
  std::vector<Run> runs_;
  std::vector<size_t> heap_;
  std::optional<SpillFile> file_;
};

}  // namespace lockstep
