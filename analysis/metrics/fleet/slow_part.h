// A part of the run, such as a replica of a server, that no collective joins with the rest and whose steps take longer
// than those of the other parts, though they launch as many kernels. Nobody outside of it waits for it, so that no
// waiting tells of it. Units: ns. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

struct SlowPart {
  std::vector<size_t> members;  // into Fleet::members, ascending
  int64_t step_ns = 0;          // median of its steps, each as long as on the rank where it takes longest
  int64_t others_step_ns = 0;   // the same of the other parts: the median part's
};

// The slowest part, if nine of ten steps of every other part are clearly shorter than its median step. Nothing where
// the parts differ in their number of ranks or kernels, have one rank each, or where it is not known which ranks are
// joined.
[[nodiscard]] std::optional<SlowPart> FindSlowPart(const Fleet& fleet);

}  // namespace lockstep
