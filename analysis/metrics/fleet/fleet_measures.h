// Interval measures and exposure of every selected rank, and what the joined instances add up to: computed once and
// shared by overlap, steps, imbalance, tails and the summary. One pass over the chapters of a run, ranks in parallel,
// results by slot. Memory: O(steps) a rank plus what a chapter holds. Errors: those of the InstanceSource.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/fleet/common_window.h"
#include "analysis/metrics/fleet/exposure.h"
#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/fleet/joined_totals.h"
#include "analysis/metrics/match/chapter.h"
#include "analysis/model/instance_source.h"

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
  int64_t communication_ns = 0;                     // sum of the durations of all instances
  std::map<uint32_t, WaitOfName> waits;             // by index into RunData::names, of the selected instances
  std::map<size_t, SlowStepWaits::ByRank> awaited;  // by row of SourceData::steps: for whom it waited in slow ones
};

struct FleetMeasures {
  CommonWindow window;
  std::vector<RankMeasures> ranks;  // parallel to Fleet::members
  JoinedTotals joined;              // of all ranks of the run

  // Sum of the selected spans: the fleet's GPU time.
  [[nodiscard]] int64_t RankTime() const;
};

class RankSweep;

// Fed with the chapters of a run, those of a rank in order of time. Borrows the fleet.
//
// A run that grows is fed with rows of steps that are not told yet: they wait for them, bounded; what is let go is
// unresolved. Of such a run nothing is selected.
class FleetMeter {
 public:
  explicit FleetMeter(const Fleet& fleet, bool grows = false);
  // Goes on for itself from what the other one has, of a run that grows. The fleet has the same members.
  FleetMeter(const FleetMeter& other, const Fleet& fleet);
  ~FleetMeter();
  FleetMeter(const FleetMeter&) = delete;
  FleetMeter& operator=(const FleetMeter&) = delete;

  // `instances`: of each source the rows of the chapter.
  [[nodiscard]] absl::Status Add(const Chapter& chapter, InstanceSource& instances, Executor& executor);
  // The sources of the fleet have more steps than before.
  void Grow();
  // The meter is used up.
  [[nodiscard]] FleetMeasures Finish();

 private:
  const Fleet& fleet_;
  FleetMeasures result_;
  SlowStepWaits slow_;
  std::vector<std::unique_ptr<RankSweep>> sweeps_;  // parallel to Fleet::members
};

}  // namespace lockstep
