// Reads the kernels, copies and idle gaps of some ranks out of their trace files, once more: a run that is condensed
// has no single ones. Collectives are left out, since the run has them. Times are aligned and absolute.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/condense_and_send.h"
#include "agent/pipeline/condense_file.h"
#include "analysis/base/hash128.h"
#include "analysis/export/perfetto/size_plan.h"
#include "cli/timeline/name_table.h"
#include "cli/timeline/run_events.h"
#include "cli/timeline/sorted_events.h"
#include "cli/timeline/timeline_options.h"

namespace lockstep {

struct KernelEvents {
  std::vector<std::unique_ptr<EventSorter<perfetto::SliceEvent>>> sorters;
  perfetto::LengthCounts lengths;  // of kernels and copies
  int64_t gaps = 0;
  std::vector<std::string> unread_files;  // with the reason
};

struct KernelReaderOptions {
  CondenseFileOptions condense;  // as the run was condensed
  size_t jobs = 0;
  int64_t memory_bytes = int64_t{96} << 20;  // for sorting
  std::function<void(const SendProgress&)> progress;
};

// `wanted`: indices into RankResolution::ranks. Errors: the disk's; kCancelled after a stop. A file that cannot be read
// any more is no error.
[[nodiscard]] absl::StatusOr<KernelEvents> ReadKernels(const RunData& run, const RunEvents& events,
                                                       const TimelineOptions& asked, const std::vector<size_t>& wanted,
                                                       const KernelReaderOptions& options, NameTable& names,
                                                       const std::stop_token& stop);

}  // namespace lockstep
