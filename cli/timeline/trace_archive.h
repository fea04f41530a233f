// The original Kineto files of a run in one ZIP archive, with the manifest that lays them on one time axis.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <stop_token>
#include <string>

#include "aggregator/store/job_store.h"
#include "analysis/base/executor.h"
#include "cli/timeline/timeline_options.h"

namespace lockstep {

struct ArchiveResult {
  size_t files = 0;
  int64_t bytes = 0;
  int64_t residual_ns = 0;  // how wrong a constant offset is, at most
};

// One offset a file is wrong by what its clock drifts. Less than most pairs of clocks compare to (a few to tens of
// microseconds) does no harm; TraceArchive tests and tests/acceptance/perfetto_test.py hold it.
inline constexpr int64_t kMostResidualNs = 10'000;

// Of the ranks asked for; steps, time and kernels are not cut. kFailedPrecondition, with the reason and what to do: a
// file is no Kineto file, or clocks drift too much. Errors: also those of the matching, of the files and of the disk;
// kCancelled after a stop.
[[nodiscard]] absl::StatusOr<ArchiveResult> ExportArchive(const LoadedRun& run, const std::string& name,
                                                          const TimelineOptions& asked, int64_t most_residual_ns,
                                                          const std::string& output, Executor& executor,
                                                          const std::stop_token& stop);

}  // namespace lockstep
