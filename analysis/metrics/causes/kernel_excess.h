// What makes the compute of one rank longer than that of its peers: work, one kernel, or the device.
//
// Totals per kernel name are taken per collective instance of the rank, so that captures of different lengths compare
// (where a tracer lost instances: per those that ranks of as many launches recorded in as many steps);
// peers are the other ranks that run (nearly) the same names, and stand as their median. A name's excess over the peers
// divides into work (launch counts, and grids where the launch shapes differ) and speed. What is common to the speed of
// the names is the device's; what one name has beyond that is the kernel's. docs/algorithms/causes.md. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/run/ranks.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// All as shares of the peers' compute time; 0.03 = 3 % more.
struct KernelExcess {
  bool compared = false;  // false: no peers, or no kernels
  double work = 0;
  double device = 0;         // what all names are slower by, times their time
  double kernel = 0;         // speed of single names beyond the device's
  double device_ratio = 1;   // how many times as long the names take that are not singled out
  double kernel_ratio = 1;   // the same of the name that stands out most
  uint32_t kernel_name = 0;  // index into RunData::names
  double work_ratio = 1;     // how many times as much work the name with the largest excess of it has
  uint32_t work_name = 0;
  double work_share = 0;  // of that name in the positive work excess
};

// Numbers of jobs by rank index: ranks of one job run (nearly) the same kernels, about as often.
[[nodiscard]] std::vector<int32_t> JobsOf(const RunData& run, const RankResolution& ranks);

[[nodiscard]] KernelExcess CompareKernels(const RunData& run, const RankResolution& ranks, int32_t rank_index);

}  // namespace lockstep
