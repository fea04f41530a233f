// The order of records that come nearly sorted, as traces have them: a few streams, threads or processes side by side,
// each ascending. They are dealt into ascending lanes, and the lanes merged: far cheaper than a sort, and no record is
// moved. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/pipeline/merge_heap.h"

namespace lockstep {

template <typename Record, typename Less>
class LaneOrder {
 public:
  static constexpr size_t kMaxLanes = 12;
  static constexpr size_t kBytesARecord = sizeof(uint32_t);  // of memory, until Release

  explicit LaneOrder(Less less) : less_(less), heap_(less) {}

  // Fills `order` with the places of the records in their order; false if they take more lanes than kMaxLanes.
  bool Find(std::span<const Record> records, std::vector<uint32_t>& order) {
    if (!Deal(records)) return false;
    order.clear();
    order.reserve(records.size());
    heap_.Clear();
    for (uint32_t lane = 0; lane < lanes_; ++lane) heap_.Add({&records[first_[lane]], lane});
    heap_.Build();
    while (!heap_.empty()) {
      const auto at = static_cast<uint32_t>(heap_.top().record - records.data());
      order.push_back(at);
      if (next_[at] == kNone) {
        heap_.Pop();
      } else {
        heap_.Replace(&records[next_[at]]);
      }
    }
    return true;
  }

  // Gives back the room of the last order.
  void Release() { next_ = {}; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Each record goes behind the largest end that is not larger: that takes as few lanes as there can be, and their ends
  // descend.
  bool Deal(std::span<const Record> records) {
    lanes_ = 0;
    next_.assign(records.size(), kNone);
    for (uint32_t i = 0; i < records.size(); ++i) {
      size_t lane = 0;
      while (lane < lanes_ && less_(records[i], records[last_[lane]])) ++lane;
      if (lane == kMaxLanes) return false;
      if (lane == lanes_) {
        first_[lanes_++] = i;
      } else {
        next_[last_[lane]] = i;
      }
      last_[lane] = i;
    }
    return true;
  }

  Less less_;
  MergeHeap<Record, Less> heap_;
  size_t lanes_ = 0;
  std::array<uint32_t, kMaxLanes> first_{};
  std::array<uint32_t, kMaxLanes> last_{};
  std::vector<uint32_t> next_;  // by record: that of the same lane
};

}  // namespace lockstep
