// How much a store takes before it says no. Kept inside the store's own transaction, so that many streams at once
// cannot slip through. Pure, thread safe.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <limits>
#include <string_view>

namespace lockstep {

struct StoreLimits {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t max_runs = kNone;
  int64_t max_sources = kNone;  // of a run: its ranks, each capture counted
  int64_t max_names = kNone;    // of a run's dictionary
  int64_t max_files = kNone;    // of a run: notes about input files
};

// OK while `count`, with what is to be added, is within the limit; else kResourceExhausted that says so, and how to
// make room. What is there already is never refused.
[[nodiscard]] absl::Status CheckRuns(const StoreLimits& limits, int64_t count);
[[nodiscard]] absl::Status CheckSources(const StoreLimits& limits, std::string_view run, int64_t count);
[[nodiscard]] absl::Status CheckNames(const StoreLimits& limits, std::string_view run, int64_t count);
[[nodiscard]] absl::Status CheckFiles(const StoreLimits& limits, std::string_view run, int64_t count);

// Whether one of the checks above said this: not a full disk.
[[nodiscard]] bool IsLimit(const absl::Status& status);

}  // namespace lockstep
