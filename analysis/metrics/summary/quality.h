// Whether the data is good enough to believe the answer: the gates of the interface, drop counters per rank, and what
// became of each file. Every failed gate says what was found, what to do, and where docs/capture.md explains it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/metrics/kernels/waiting_kernels.h"

namespace lockstep {

struct Gate {
  std::string name;
  std::optional<bool> ok;  // null = not applicable to this run
  std::string detail;      // what was found; never empty
  std::string fix;         // failed gates only
};

struct CountersOfRank {
  size_t member = 0;      // into Fleet::members
  DropCounters counters;  // the source's own, and unmatched and ambiguous instances of the matching
};

struct Quality {
  std::vector<Gate> gates;                      // in the order of the interface
  std::optional<WaitingKernel> waiting_kernel;  // that looks like communication
  std::vector<CountersOfRank> ranks;
  std::vector<FileNote> files;  // as noted while reading; a file of which no source is analysed is "refused"
};

[[nodiscard]] Quality ComputeQuality(const Fleet& fleet, const FleetMeasures& measures);

// Names of all gates, in the order of the interface.
[[nodiscard]] const std::vector<std::string_view>& GateNames();

}  // namespace lockstep
