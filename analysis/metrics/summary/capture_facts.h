// What a capture itself shows about how it was made: for the gates. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

// What tracing one node of a CUDA graph adds to its time. With kernels of a few microseconds, as decoding has them,
// that is the 30 to 60 % by which such captures are known to be longer.
inline constexpr int64_t kNodeTraceNs = 2'000;

// The first or last step of a source, where much of what was launched in it has no kernel: the capture began or ended
// inside it. Compared with the median of the steps that launch as often (at least three).
struct CutStep {
  int64_t step = 0;
  int64_t kernels = 0;
  int64_t expected = 0;
};
[[nodiscard]] std::optional<CutStep> FindCutStep(const SourceData& source);

// Of the device time of these ranks, what tracing the nodes of graphs adds by kNodeTraceNs a node; null without graphs.
[[nodiscard]] std::optional<double> NodeTraceShare(const Fleet& fleet);

// A message of the profiler that speaks of lost records, with its rank; "" = none.
[[nodiscard]] std::string LossMessage(const Fleet& fleet);

// What the captures of these ranks say about themselves: at most three messages, versions, the length of the window.
// Starts with "; ", "" = nothing.
[[nodiscard]] std::string DiagnosticsOf(const Fleet& fleet, const std::vector<int32_t>& ranks);

}  // namespace lockstep
