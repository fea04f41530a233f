// How much work each rank has, so that more work is told apart from slower work.
//
// Compute: a kernel name's units are launches x blocks of its grids (launches alone where a grid is not recorded); what
// a rank's units would take at the fleet's mean time per unit of each name is its expected time. Communication: the
// time of a rank's collectives without its waits, and the bytes they carry. Of whole captures. Pure. Units: ns, bytes.
// docs/algorithms/imbalance.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/fleet/joined_totals.h"
#include "analysis/metrics/run/family_names.h"

namespace lockstep {

// Parallel to Fleet::members.
struct KernelWork {
  std::vector<double> total_ns;
  std::vector<double> expected_ns;
};

struct ComputeWork {
  KernelWork all;                               // of all kernels but communication
  std::map<std::string, KernelWork> by_family;  // by the name that FamilyNames gives
};
[[nodiscard]] ComputeWork ComputeWorkOf(const Fleet& fleet);

// Parallel to Fleet::members.
[[nodiscard]] std::vector<CommunicationWork> CommunicationWorkOf(const Fleet& fleet, const JoinedTotals& joined);

}  // namespace lockstep
