// Where the time of one source went: over its steps, and over buckets of time.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/model/row_values.h"
#include "analysis/model/trace_record.h"

namespace lockstep {

// Lengths of the sets of definitions.md over some window of one source. M = communication kernels, C = other kernels,
// Y = copies and memsets, G = graph-level spans; all after merging. Identity, exact:
// compute + (comm - overlap) + copy_only + opaque_only + idle() = span.
// Differences of measures (StepRow::before, after, foreign) may be negative.
struct IntervalMeasure {
  int64_t span_ns = 0;
  int64_t compute_ns = 0;              // |C|
  int64_t comm_ns = 0;                 // |M|
  int64_t copy_ns = 0;                 // |Y|
  int64_t opaque_ns = 0;               // |G|
  int64_t overlap_ns = 0;              // |M n C|
  int64_t strict_exposed_comm_ns = 0;  // |M \ (C u Y)|
  int64_t copy_only_ns = 0;            // |Y \ (C u M)|
  int64_t opaque_only_ns = 0;          // |G \ (C u M u Y)|
  int64_t idle_host_ns = 0;
  int64_t idle_launch_ns = 0;
  int64_t idle_dependency_ns = 0;
  int64_t idle_other_ns = 0;

  [[nodiscard]] int64_t exposed_comm_ns() const { return comm_ns - overlap_ns; }
  [[nodiscard]] int64_t idle_ns() const { return idle_host_ns + idle_launch_ns + idle_dependency_ns + idle_other_ns; }
  [[nodiscard]] int64_t busy_ns() const { return span_ns - idle_ns(); }
  void Add(const IntervalMeasure& other);
  void Subtract(const IntervalMeasure& other);
  friend bool operator==(const IntervalMeasure&, const IntervalMeasure&) = default;
};

// One step of the source. `tile` measures the device window [window_start, window_end): from its first activity to the
// first one of any later row. The windows tile the span; rows come in order of their windows, which need not be that of
// the steps' numbers. Selecting rows A..B by launch: sum of (tile - foreign) - before(A) + after(B), where
//   before  what activities of earlier rows add inside this and later windows (to be taken away), and
//   after   what activities of this and earlier rows add beyond window_end (to be added), the idle tail trimmed
//          (exact as long as such leftovers end inside the windows and span selected), and
// foreign  (every row selected) what activities launched in no step add inside the window (to be taken away).
struct StepRow {
  int64_t step = kNoStep;  // the trace's number, else ordinal; kNoStep: before the first step
  uint32_t name = kNoId;   // NameDef::id of the range
  int64_t host_start_ns = kNoTime;
  int64_t host_end_ns = kNoTime;
  int64_t window_start_ns = 0;
  int64_t window_end_ns = 0;
  int64_t first_start_ns = kNoTime;  // of the members by launch
  int64_t last_end_ns = kNoTime;
  IntervalMeasure tile;
  IntervalMeasure before;
  IntervalMeasure after;
  IntervalMeasure foreign;
  int64_t launches = 0;  // launch calls that start in the step
  int64_t kernels = 0;
  int64_t collectives = 0;
  int64_t collective_time_ns = 0;
  int64_t collective_max_ns = 0;
  int64_t kernel_time_ns = 0;
  int64_t longest_gap_ns = 0;
  // What the host did, by the start of each call.
  int64_t launch_ns = 0;       // time in the calls that `launches` counts
  int64_t graph_launches = 0;  // those of them that launch a CUDA graph
  int64_t sync_calls = 0;      // calls that wait for the device
  int64_t sync_ns = 0;
  int64_t alloc_calls = 0;  // device memory allocated or released
  int64_t alloc_ns = 0;
  int64_t alloc_max_ns = 0;
  // Copies between host and device memory, members by launch.
  int64_t host_copies = 0;
  int64_t host_copy_ns = 0;
  int64_t host_copy_bytes = 0;  // of those whose size is known
  // Kernel time launched inside annotations of these phases; what stands in none is in neither.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t optimizer_ns = 0;
  std::string phase;  // "" = unknown
  friend bool operator==(const StepRow&, const StepRow&) = default;
};

struct BucketRow {
  int64_t index = 0;  // floor(time / bucket_ns): buckets of all sources lie on one grid
  IntervalMeasure measure;
  friend bool operator==(const BucketRow&, const BucketRow&) = default;
};

inline constexpr size_t kMaxStepOverlaps = size_t{1} << 15;

// Work of steps that interleave, as ranges inside one another do. The time in which anything of the steps A..B runs is
// the sum of the rows of single steps in it (lower == upper), less that of the rows of two steps both in it.
struct StepOverlapRow {
  int64_t lower = 0;  // numbers of steps
  int64_t upper = 0;
  IntervalMeasure measure;  // span: anything runs; no idle. Of two steps a correction: fields may be negative
  friend bool operator==(const StepOverlapRow&, const StepOverlapRow&) = default;
};

}  // namespace lockstep
