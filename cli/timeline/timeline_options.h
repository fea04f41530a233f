// What a person wants of a timeline.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lockstep {

enum class KernelsWanted : uint8_t { kCulprits, kAll, kNone };

// A browser holds about 2 GB and takes two to four times the size of the file.
inline constexpr int64_t kBrowserBytes = 300'000'000;

struct TimelineOptions {
  std::vector<int32_t> ranks;                          // empty = all
  std::optional<std::pair<int64_t, int64_t>> steps;    // inclusive
  std::optional<std::pair<int64_t, int64_t>> time_ns;  // from the run's start, half open
  KernelsWanted kernels = KernelsWanted::kCulprits;
  int64_t limit_bytes = kBrowserBytes;
};

}  // namespace lockstep
