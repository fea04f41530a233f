// Joins device records with their launches by (process, correlation) and hands the result, still on the file's axis, to
// the sorter of activities. Both inputs come sorted by that key: a merge, in bounded memory. One thread.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <vector>

#include "agent/pipeline/host_sweep.h"
#include "agent/pipeline/record_collector.h"

namespace lockstep {

// What one (process, device) turned out to hold, after the drops. Times on the file's axis.
struct SourceStats {
  int64_t kernels = 0;
  int64_t collectives = 0;
  int64_t memcpys = 0;
  int64_t memsets = 0;
  int64_t graph_spans = 0;
  int64_t graph_kernels = 0;
  int64_t kernel_time_ns = 0;
  int64_t first_start_ns = INT64_MAX;
  int64_t last_end_ns = INT64_MIN;
  DropCounters drops;
  std::map<NameId, int64_t> time_by_name;  // kernels only; bounded by the interner
  // Activities launched in each step, up to the last that has any; stops at the largest number.
  std::vector<uint32_t> activities_by_step;

  [[nodiscard]] int64_t activities() const { return kernels + memcpys + memsets + graph_spans; }
};

struct JoinResult {
  std::vector<SourceStats> sources;            // index = RecordCollector::sources()
  std::vector<int64_t> opaque_graph_launches;  // by process: graph launches without any node row
};

absl::StatusOr<JoinResult> JoinLaunches(RecordCollector& collector, LaunchSorter& launches, RangeProjection& ranges);

}  // namespace lockstep
