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

// Names of baselines are for people: at most 200 bytes of UTF-8 without control characters. kInvalidArgument.
[[nodiscard]] absl::Status CheckBaselineName(std::string_view name);
// Far more than a person keeps apart; it bounds what a client can leave in a store.
inline constexpr int64_t kMostBaselines = 1000;
[[nodiscard]] absl::Status CheckBaselines(int64_t count);
[[nodiscard]] absl::Status NoSuchBaseline(std::string_view name);

// Whether one of the checks above said this: not a full disk.
[[nodiscard]] bool IsLimit(const absl::Status& status);

}  // namespace lockstep
