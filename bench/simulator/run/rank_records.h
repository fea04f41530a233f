// What a reader makes of one rank's trace, straight from the recorded timeline: the activity records that the pipeline
// would hand to the condenser, with the source's context. One of these for each trace process.
//
// It mirrors the readers and the join of agent/pipeline; a test holds it against them. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/condense/file_interner.h"
#include "analysis/condense/step_table.h"
#include "analysis/model/source.h"
#include "bench/simulator/run/scenario.h"

namespace lockstep {

struct RankRecords {
  SourceContext context;
  FileInterner names;
  std::vector<StepRange> steps;
  std::vector<HostOfStep> host_by_step;
  std::vector<NameId> largest_names;
  std::vector<ActivityRecord> records;  // in ActivityOrder
  std::vector<int64_t> instances;       // of the communication kernels among them, in order: into Scenario::instances
  DropCounters drops;                   // of this source
  DropCounters file_drops;              // what the reader dropped: counted once for the file, in its main source
};

enum class TraceOfRank : uint8_t { kOwn, kDuplicate };

// `which`: the rank's own trace, or the other one that claims its rank.
[[nodiscard]] RankRecords RecordsOf(const Scenario& scenario, int32_t rank, TraceOfRank which);

// The ranks that share a file with this one: of an nsys capture the host's, but for a missing one and those beyond it.
struct RanksOfFile {
  int32_t first = 0;
  int32_t last = 0;
};
[[nodiscard]] RanksOfFile FileOf(const Scenario& scenario, int32_t rank, TraceOfRank which);

}  // namespace lockstep
