// A bounded external merge sort of trivially copyable records.
//
// Records are collected up to the memory budget, which includes what ordering them takes; a full buffer is ordered and
// spilled as a run to an unlinked file, in packed blocks (record_block.h): copying to the file costs more than packing.
// A run that begins where the last one ended makes it longer. Reading merges the runs. Nothing is spilled while one run
// suffices. The order must be total for the result to be deterministic; equal records keep no particular order. One
// thread.
//   sorter.Add(r)...; sorter.Finish(); while (sorter.Next(r)) ...
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "agent/pipeline/lane_order.h"
#include "agent/pipeline/merge_heap.h"
#include "agent/pipeline/record_block.h"
#include "analysis/base/status_macros.h"
#include "platform/reserved_memory.h"
#include "platform/spill_file.h"

namespace lockstep {

template <typename Record, typename Less>
class ExternalSorter {
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) % 4 == 0);

  using Lanes = LaneOrder<Record, Less>;

 public:
  // Of memory: the record, its place in the order, and what finding that takes.
  static constexpr size_t kBytesARecord = sizeof(Record) + sizeof(uint32_t) + Lanes::kBytesARecord;

  ExternalSorter(std::string folder, int64_t memory_bytes, Less less = Less())
      : folder_(std::move(folder)),
        capacity_(std::max<size_t>(1024, static_cast<size_t>(memory_bytes) / kBytesARecord / kBlock * kBlock)),
        less_(less),
        lanes_(less),
        heap_(less) {}

  absl::Status Add(const Record& record) {
    if (buffer_.size() == capacity_) LOCKSTEP_RETURN_IF_ERROR(Spill());
    if (buffer_.capacity() == 0) buffer_ = ReservedVector<Record>(capacity_);
    buffer_.push_back(record);
    ++count_;
    return absl::OkStatus();
  }

  absl::Status Finish() {
    if (runs_.empty()) {
      Order();
      lanes_.Release();
      return absl::OkStatus();
    }
    LOCKSTEP_RETURN_IF_ERROR(Spill());
    buffer_ = ReservedVector<Record>();
    order_ = {};
    lanes_.Release();
    return Merge();
  }

  // After Finish: the next record is the first one again.
  absl::Status Rewind() {
    position_ = 0;
    return Merge();
  }

  // False at the end.
  absl::StatusOr<bool> Next(Record& record) {
    if (runs_.empty()) {
      if (position_ == buffer_.size()) return false;
      record = buffer_[order_[position_++]];
      return true;
    }
    if (heap_.empty()) return false;
    record = *heap_.top().record;
    Run& run = runs_[heap_.top().sequence];
    if (++run.position == run.window.size()) LOCKSTEP_RETURN_IF_ERROR(Refill(run));
    if (run.position == run.window.size()) {
      heap_.Pop();
    } else {
      heap_.Replace(&run.window[run.position]);
    }
    return true;
  }

  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] int64_t spilled_bytes() const { return file_.has_value() ? file_->size() : 0; }

 private:
  struct Run {
    int64_t first_offset = 0;
    size_t size = 0;                    // records
    std::vector<uint32_t> block_bytes;  // of each kBlock records; the last may hold fewer
    Record last;
    int64_t offset = 0;  // next byte to read
    size_t block = 0;    // next to read
    std::vector<Record> window;
    size_t position = 0;
  };

  // Makes `order_` that of the buffer.
  void Order() {
    if (lanes_.Find(buffer_, order_)) return;
    std::sort(buffer_.begin(), buffer_.end(), less_);
    order_.resize(buffer_.size());
    std::iota(order_.begin(), order_.end(), uint32_t{0});
  }

  // Every run from its begin.
  absl::Status Merge() {
    heap_.Clear();
    for (size_t i = 0; i < runs_.size(); ++i) {
      Run& run = runs_[i];
      run.offset = run.first_offset;
      run.block = 0;
      LOCKSTEP_RETURN_IF_ERROR(Refill(run));
      heap_.Add({run.window.data(), static_cast<uint32_t>(i)});
    }
    heap_.Build();
    return absl::OkStatus();
  }

  absl::Status Spill() {
    if (buffer_.empty()) return absl::OkStatus();
    if (!file_.has_value()) {
      LOCKSTEP_ASSIGN_OR_RETURN(SpillFile file, SpillFile::Create(folder_));
      file_.emplace(std::move(file));
    }
    Order();
    Run& run = RunFor(buffer_[order_.front()]);
    std::array<Record, kBlock> block;
    for (size_t first = 0; first < order_.size(); first += kBlock) {
      const size_t count = std::min(kBlock, order_.size() - first);
      for (size_t i = 0; i < count; ++i) block[i] = buffer_[order_[first + i]];
      const size_t before = packed_.size();
      PackRecords(std::as_bytes(std::span(block).first(count)), sizeof(Record), packed_);
      run.block_bytes.push_back(static_cast<uint32_t>(packed_.size() - before));
      if (packed_.size() >= kWriteBytes) LOCKSTEP_RETURN_IF_ERROR(Write());
    }
    LOCKSTEP_RETURN_IF_ERROR(Write());
    run.size += order_.size();
    run.last = buffer_[order_.back()];
    buffer_.clear();
    return absl::OkStatus();
  }

  // The last run if a run that begins so can follow it: its blocks are whole, and it stands at the end of the file.
  Run& RunFor(const Record& first) {
    if (runs_.empty() || runs_.back().size % kBlock != 0 || less_(first, runs_.back().last)) {
      runs_.emplace_back().first_offset = file_->size();
    }
    return runs_.back();
  }

  absl::Status Write() {
    LOCKSTEP_RETURN_IF_ERROR(file_->Append(packed_).status());
    packed_.clear();
    return absl::OkStatus();
  }

  // The next blocks of a run, as many as its share of the memory holds.
  absl::Status Refill(Run& run) {
    const size_t share = std::clamp<size_t>(capacity_ / runs_.size() / kBlock, 1, kWindowBlocks);
    const size_t blocks = std::min(share, run.block_bytes.size() - run.block);
    const auto sizes = std::span(run.block_bytes).subspan(run.block, blocks);
    run.window.resize(std::min(blocks * kBlock, run.size - std::min(run.size, run.block * kBlock)));
    run.position = 0;
    run.block += blocks;
    const size_t bytes = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
    packed_.resize(bytes + PackedSlack(sizeof(Record)));
    LOCKSTEP_RETURN_IF_ERROR(file_->Read(run.offset, std::span(packed_).first(bytes)));
    run.offset += static_cast<int64_t>(bytes);
    return Unpack(sizes, run.window);
  }

  absl::Status Unpack(std::span<const uint32_t> sizes, std::span<Record> records) const {
    std::span<const std::byte> packed(packed_);
    for (const uint32_t size : sizes) {
      const auto block = records.first(std::min(kBlock, records.size()));
      if (!UnpackRecords(packed, size, sizeof(Record), std::as_writable_bytes(block))) {
        return absl::DataLossError("a temporary file does not hold what was written to it");
      }
      packed = packed.subspan(size);
      records = records.subspan(block.size());
    }
    return absl::OkStatus();
  }

  static constexpr size_t kBlock = 64;
  static constexpr size_t kWindowBlocks = 32;  // stays in the processor's caches
  static constexpr size_t kWriteBytes = size_t{64} << 10;

  std::string folder_;
  size_t capacity_;
  Less less_;
  ReservedVector<Record> buffer_;  // room for `capacity_` from the first record on
  std::vector<uint32_t> order_;    // of the buffer
  Lanes lanes_;
  size_t position_ = 0;
  int64_t count_ = 0;
  std::vector<Run> runs_;
  MergeHeap<Record, Less> heap_;
  std::vector<std::byte> packed_;  // what is written or read
  std::optional<SpillFile> file_;
};

}  // namespace lockstep
