// What is known only at the end of a source.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/model/memory_row.h"
#include "analysis/model/row_values.h"
#include "analysis/model/source.h"
#include "analysis/model/step_row.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

// Idle gaps of one stream, HTA's categories.
struct StreamIdleRow {
  int32_t stream = -1;
  int64_t host_wait_ns = 0;
  int64_t kernel_wait_ns = 0;
  int64_t other_ns = 0;
  friend bool operator==(const StreamIdleRow&, const StreamIdleRow&) = default;
};

// What is known only at the end of a source.
struct SourceSummary {
  DropCounters drops;
  Sketch gaps;  // idle gaps of the device
  std::vector<StreamIdleRow> streams;
  std::vector<AllocationPoint> allocation;
  int64_t allocation_peak_bytes = -1;
  int64_t allocation_peak_at_ns = kNoTime;
  // Ascending by (lower, upper). Empty where the step rows tell of every selection, where too many steps interleave,
  // and of sources condensed before version 6.
  std::vector<StepOverlapRow> step_overlaps;
  friend bool operator==(const SourceSummary&, const SourceSummary&) = default;
};

}  // namespace lockstep
