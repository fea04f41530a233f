// Sums that several findings rest on, once for each rank and for all of them. Pure. Units: ns.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/metrics/findings/findings.h"
#include "analysis/metrics/summary/summary.h"

namespace lockstep {

struct RankFacts {
  size_t member = 0;        // into Fleet::members
  IntervalMeasure measure;  // over the common window, as the shares of the summary; without one of what was asked for
  Exposure exposure;
  // What the host did, by one source of each process: sums over the selected steps; of launch calls over the whole
  // capture where there are no steps.
  int64_t host_ns = 0;  // the time that launch calls are a part of
  int64_t launch_calls = 0;
  int64_t launch_call_ns = 0;
  int64_t steps = 0;
  int64_t step_ns = 0;
  int64_t sync_calls = 0;
  int64_t sync_ns = 0;
  int64_t alloc_calls = 0;
  int64_t alloc_ns = 0;
  int64_t alloc_max_ns = 0;
  int64_t host_copies = 0;
  int64_t host_copy_ns = 0;

  [[nodiscard]] int64_t idle_for_host_ns() const { return measure.idle_host_ns + measure.idle_launch_ns; }
};

inline constexpr size_t kFamilies = static_cast<size_t>(kLastFamily) + 1;

struct Facts {
  std::vector<RankFacts> ranks;  // with device time, ascending
  RankFacts total;               // sums; `member` means nothing
  std::array<int64_t, kFamilies> family_ns = {};
  int64_t compute_kernel_ns = 0;  // sum of the durations of all kernels but communication
};

[[nodiscard]] Facts CollectFacts(const FindingsInput& input);

// "rank 3 on node1"
[[nodiscard]] std::string PlaceOf(const Fleet& fleet, size_t member);

// Where a share is largest: that rank, or "all ranks" if it is within a quarter of the lower median.
[[nodiscard]] std::string WhereLargest(const Fleet& fleet, const Facts& facts,
                                       const std::function<double(const RankFacts&)>& share);

}  // namespace lockstep
