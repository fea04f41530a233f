// The kernels of one source: durations by key, and totals by step.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/kernel_class.h"
#include "analysis/model/launch_places.h"
#include "analysis/model/row_values.h"
#include "analysis/model/trace_record.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

inline constexpr size_t kMaxExemplars = 256;  // longest instances kept of one kernel key

struct Exemplar {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t step = kNoStep;
  friend bool operator==(const Exemplar&, const Exemplar&) = default;
};

// Durations of one kernel key, one sketch per time slice.
struct KernelRow {
  uint32_t name = 0;
  uint32_t mangled = kNoId;
  LaunchShape shape;
  bool has_shape = false;
  bool from_graph = false;
  std::string phase;
  KernelClass kind;
  std::vector<std::pair<int64_t, Sketch>> slices;  // (slice index = floor(start / slice_ns), durations), ascending
  std::vector<Exemplar> longest;                   // at most kMaxExemplars, longest first, then earliest
  // Which kernels of the source's typical step they are (launch_places.h): at most kMaxPlaces; empty = none, or not
  // known.
  std::vector<uint32_t> places;
  uint32_t range = kNoId;  // that nearly all launches are inside of (common_range.h), without its numbers
  bool is_rest = false;    // the counted remainder beyond the key limit
  friend bool operator==(const KernelRow&, const KernelRow&) = default;
};

// Exact totals of the 32 largest names, per step (by launch).
struct StepKernelRow {
  int64_t step = kNoStep;
  uint32_t name = 0;
  int64_t instances = 0;
  int64_t total_ns = 0;
  friend bool operator==(const StepKernelRow&, const StepKernelRow&) = default;
};

}  // namespace lockstep
