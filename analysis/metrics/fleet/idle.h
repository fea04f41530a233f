// Idle time of the device of each rank, by reason. The four reasons sum to the idle time exactly. Units: ns. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

struct IdleOfRank {
  size_t member = 0;        // into Fleet::members
  IntervalMeasure measure;  // of what was asked for
  // The distribution of gaps and the streams are kept for the whole source only: null under --steps, --time, --nvtx.
  std::optional<Sketch> gaps;
  std::vector<StreamIdleRow> streams;
  std::optional<int64_t> dominant_gap_ns;  // median of the longest gap per step (lower middle); null without steps
};

[[nodiscard]] std::vector<IdleOfRank> ComputeIdle(const Fleet& fleet);

}  // namespace lockstep
