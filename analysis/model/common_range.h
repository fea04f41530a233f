// The range that launches of one kernel have in common: the innermost NVTX range or annotation around the launch, on
// its thread. Pure values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/model/trace_record.h"

namespace lockstep {

// The text with one # for each number in it, so that "layer 3" and "layer 12" are one range. Of a longer text the first
// kMostReadOfRange bytes.
inline constexpr size_t kMostReadOfRange = 4'096;
[[nodiscard]] std::string WithoutNumbers(std::string_view range);

// Counts the launches inside each range. The first kRanges ranges are counted one by one: a kernel that is launched
// inside more of them has none in common.
class CommonRange {
 public:
  // This share of the launches must be inside it. Those at the start of a capture lack ranges that were open before.
  static constexpr double kShare = 0.95;

  // kNoId: launches inside no range.
  void Add(uint32_t range, int64_t launches = 1) {
    launches_ += launches;
    if (range == kNoId) return;
    for (Count& count : counts_) {
      if (count.launches == 0) count.range = range;
      if (count.range != range) continue;
      count.launches += launches;
      return;
    }
  }

  // kNoId where they have none in common.
  [[nodiscard]] uint32_t Get() const;

 private:
  static constexpr size_t kRanges = 4;
  struct Count {
    uint32_t range = kNoId;
    int64_t launches = 0;
  };
  std::array<Count, kRanges> counts_;
  int64_t launches_ = 0;
};

}  // namespace lockstep
