// What bounds a run: overhead of the host, communication, computing or memory, with the ratios that say so.
//
// Shares of the GPU time: overhead = idle for the host or for launches; communication = exposed; work = the rest that
// is busy. Work is memory's where over half of the kernel time lies in families that move more bytes than they compute
// on (by name: no counters are traced). Of what was asked for; kernel time of whole captures. Pure.
// docs/algorithms/imbalance.md "findings".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/metrics/fleet/fleet_measures.h"

namespace lockstep {

enum class WorkloadClass : uint8_t { kUnknown = 0, kOverhead, kCommunication, kCompute, kMemory };
[[nodiscard]] std::string_view Name(WorkloadClass kind);  // "" | "overhead" | "communication" | "compute" | "memory"

// The largest share bounds the run if it is over a third and leads by 2 % of the time.
inline constexpr double kBoundShare = 1.0 / 3;
inline constexpr double kBoundLead = 0.02;
inline constexpr double kMemoryShare = 0.5;

struct Workload {
  WorkloadClass kind = WorkloadClass::kUnknown;  // kUnknown: no share leads, or nothing ran
  double overhead = 0;
  double communication = 0;
  double work = 0;
  std::optional<double> memory;  // of the kernel time apart from communication; null without kernels
};

[[nodiscard]] Workload ComputeWorkload(const Fleet& fleet, const FleetMeasures& measures);

}  // namespace lockstep
