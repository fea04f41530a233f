// Kernels that nobody classified as communication but that behave like it: the ranks that have less else to do spend as
// much longer in them, so that the device time comes out even although no known communication absorbs the difference.
// The ranks that wait for each other in them may be parts of the fleet: those that are alike elsewhere.
//
// Only totals by rank are looked at, so this is a hint and never a proof: docs/algorithms/verdicts.md. Units: ns. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/metrics/kernels/kernels.h"

namespace lockstep {

struct WaitingKernel {
  std::string name;
  int32_t others = 0;       // kernels beside the named one that behave like it: all figures are of them together
  size_t shortest = 0;      // into Fleet::members: who spends least in it, and has most else to do
  int64_t shortest_ns = 0;  // in all its instances
  int64_t longest_ns = 0;   // on the rank that spends most in it
  int64_t excess_ns = 0;    // what all ranks spend in it beyond the shortest of their group
  double worst_ratio = 0;   // share of its time that the rank that spends most in it spends beyond the shortest
};

// The one with the largest excess; of several that have half of it, the one that takes most times as long on one rank
// as on another; nullopt where none behaves so. Where the waiting is spread over many, these are taken together, and
// the one that differs most is named. `kernels`: grouped by full name, totals suffice.
[[nodiscard]] std::optional<WaitingKernel> FindWaitingKernel(const FleetMeasures& measures,
                                                             const KernelSummary& kernels);
// The same of a whole run: of a part of one the totals need not be those of the part.
[[nodiscard]] std::optional<WaitingKernel> FindWaitingKernel(const Fleet& fleet, const FleetMeasures& measures);

}  // namespace lockstep
