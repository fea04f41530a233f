#include "aggregator/store/memory/store_limits.h"

#include <absl/strings/cord.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "analysis/base/utf8.h"

namespace lockstep {
namespace {

constexpr const char* kMark = "lockstep/limit";

absl::Status Reached(const std::string& text) {
  absl::Status status = absl::ResourceExhaustedError(text);
  status.SetPayload(kMark, absl::Cord());
  return status;
}

absl::Status CheckOfRun(std::string_view run, std::string_view what, std::string_view flag, int64_t count,
                        int64_t limit) {
  if (count <= limit) return absl::OkStatus();
  return Reached(
      fmt::format("run '{}' has {} {}, as many as the aggregator takes: send to another run, or start the "
                  "aggregator with a larger {}",
                  run, limit, what, flag));
}

}  // namespace

absl::Status CheckRuns(const StoreLimits& limits, int64_t count) {
  if (count <= limits.max_runs) return absl::OkStatus();
  return Reached(fmt::format(
      "there are {} runs, as many as the aggregator keeps: remove old ones with `lockstep runs --prune`, or "
      "start it with a larger --max-runs",
      limits.max_runs));
}

absl::Status CheckSources(const StoreLimits& limits, std::string_view run, int64_t count) {
  return CheckOfRun(run, "sources", "--max-ranks", count, limits.max_sources);
}

absl::Status CheckNames(const StoreLimits& limits, std::string_view run, int64_t count) {
  return CheckOfRun(run, "names", "--max-names", count, limits.max_names);
}

absl::Status CheckFiles(const StoreLimits& limits, std::string_view run, int64_t count) {
  return CheckOfRun(run, "notes about files", "--max-files", count, limits.max_files);
}

absl::Status CheckBaselineName(std::string_view name) {
  constexpr size_t kMostBytes = 200;
  const bool plain = std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (!name.empty() && name.size() <= kMostBytes && plain && IsValidUtf8(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the name of a baseline must be UTF-8 text of 1 to {} bytes without control characters", kMostBytes));
}

absl::Status CheckBaselines(int64_t count) {
  if (count <= kMostBaselines) return absl::OkStatus();
  return Reached(fmt::format(
      "there are {} baselines, as many as a store keeps: remove one with `lockstep baseline remove`", kMostBaselines));
}

absl::Status NoSuchBaseline(std::string_view name) {
  return absl::NotFoundError(fmt::format("there is no baseline '{}'; `lockstep baseline list` lists them", name));
}

bool IsLimit(const absl::Status& status) { return status.GetPayload(kMark).has_value(); }

}  // namespace lockstep
