// Interval measures and exposure of every selected rank, computed once and shared by overlap, steps, imbalance, tails
// and the summary. One pass over the instances of each rank, ranks in parallel, results by slot. Memory: O(steps) a
// rank plus what the matching already holds. Errors: those of the InstanceSource.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <vector>

#include "analysis/metrics/fleet/common_window.h"
#include "analysis/metrics/fleet/exposure.h"
#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

// Waits and transfers of the communication kernels of one name.
struct WaitOfName {
  Sketch wait;      // of every member with a usable arrival
  Sketch transfer;  // once per instance, at its lowest rank present
};

struct RankMeasures {
  IntervalMeasure selected;  // what was asked for; the whole source without restrictions
  Exposure selected_exposure;
  std::vector<Exposure> by_step;  // parallel to SourceData::steps, by device window
  IntervalMeasure common;         // over the common window
  Exposure common_exposure;
  int64_t communication_ns = 0;          // sum of the durations of all instances
  std::map<uint32_t, WaitOfName> waits;  // by index into RunData::names, of the selected instances
};

struct FleetMeasures {
  CommonWindow window;
  std::vector<RankMeasures> ranks;  // parallel to Fleet::members

  // Sum of the selected spans: the fleet's rank-time.
  [[nodiscard]] int64_t RankTime() const;
};

[[nodiscard]] absl::StatusOr<FleetMeasures> MeasureFleet(const Fleet& fleet, InstanceSource& instances,
                                                         Executor& executor);

}  // namespace lockstep
