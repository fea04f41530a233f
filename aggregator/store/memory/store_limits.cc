#include "aggregator/store/memory/store_limits.h"

#include <absl/strings/cord.h>
#include <fmt/format.h>

#include <string>

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

bool IsLimit(const absl::Status& status) { return status.GetPayload(kMark).has_value(); }

}  // namespace lockstep
