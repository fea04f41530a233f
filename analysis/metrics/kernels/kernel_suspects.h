// Kernels that may be communication although nobody classified them as such: how long every rank is in each, or in
// several that behave alike. Units: ns. Pure. docs/algorithms/verdicts.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/metrics/kernels/kernels.h"

namespace lockstep {

inline constexpr double kLeastTimesAsLong = 1.1;  // on one rank as on another: more than chance
inline constexpr double kClearlyLonger = 1.5;     // more than devices of one kind differ by: where less speaks for it

struct KernelSuspect {
  std::string name;
  int32_t others = 0;           // kernels beside the named one
  bool computes = false;        // its name says so
  std::vector<int64_t> own_ns;  // by member of the fleet

  [[nodiscard]] double LeastTimes() const { return computes ? kClearlyLonger : kLeastTimesAsLong; }
};

// Those that all ranks run about equally often and that are not known to communicate; then those among them that are
// shortest on the same rank, taken as one.
[[nodiscard]] std::vector<KernelSuspect> FindKernelSuspects(const KernelSummary& kernels, size_t ranks);

}  // namespace lockstep
