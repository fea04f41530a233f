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
  // Of what was asked for where the files were condensed with it; null and empty of a stored run that is restricted,
  // and where steps and a time are asked for together: the measure is of the time, the gaps would be of both.
  std::optional<Sketch> gaps;
  std::vector<StreamIdleRow> streams;
  std::optional<int64_t> dominant_gap_ns;  // median of the longest gap per step (lower middle); null without steps
};

[[nodiscard]] std::vector<IdleOfRank> ComputeIdle(const Fleet& fleet);

}  // namespace lockstep
