// A lane: sequences of several ranks whose k-th instances belong together, up to a shift. Internal to the joining of
// instances.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"
#include "analysis/metrics/match/order_score.h"

namespace lockstep {

struct Lane {
  std::vector<std::vector<RowRef>> rows;  // per slot, in order of start, none empty; a slot is one rank
  PairRelation relation = PairRelation::kCommonPoint;
};

struct LaneAlignment {
  // Instance g of the lane has row g + shift of each slot; null = the slot does not fit and is left out.
  std::vector<std::optional<int64_t>> shift;
  bool certain = false;
  bool exact = false;  // no pair on one clock contradicts the shifts
  double confidence = 0;
  std::vector<ClockEvidence> evidence;
};

[[nodiscard]] LaneAlignment AlignLane(const JoinInput& input, const Lane& lane);

}  // namespace lockstep
