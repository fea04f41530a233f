// The progress of the largest kernels over a run: how often each ran and how long it took, by rank and time slice.
// Pure. Units: ns.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

struct KernelPaceSlice {
  int64_t start_ns = 0;  // aligned
  int64_t span_ns = 0;   // of the source's slices
  int64_t instances = 0;
  double mean_ns = 0;
};

struct KernelPaceOfRank {
  size_t member = 0;                    // into Fleet::members
  std::vector<KernelPaceSlice> slices;  // ascending; those in which it ran
};

struct KernelPace {
  std::string name;
  std::vector<KernelPaceOfRank> ranks;  // that ran it, ascending
};

inline constexpr size_t kMaxPacedKernels = 5;

// The kernels of most time, apart from communication, among those that --kernels accepts; by time, then name.
// kInvalidArgument: the pattern is no regular expression.
[[nodiscard]] absl::StatusOr<std::vector<KernelPace>> ComputeKernelPace(const Fleet& fleet);

}  // namespace lockstep
