// What a stored run tells of its time: steps, collectives with who waits for whom, idle time, and the longest kernels.
// The run is taken through its matching chapter by chapter, so that memory is that of a few chapters.
//
// Times of these events are aligned and absolute; `start_ns` is where the run begins.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "aggregator/store/job_store.h"
#include "analysis/base/executor.h"
#include "analysis/export/perfetto/size_plan.h"
#include "analysis/export/perfetto/timeline.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/ranks.h"
#include "cli/timeline/name_table.h"
#include "cli/timeline/sorted_events.h"
#include "cli/timeline/timeline_options.h"

namespace lockstep {

// Of more members arrows would cover the picture: then only who waited longest has one.
inline constexpr size_t kMostArrows = 64;

// Of which rank which number in the exported list is: by index into RankResolution::ranks; kNoId: not selected.
using ExportedPlaces = std::vector<uint32_t>;

struct RunEvents {
  RankResolution ranks;
  RunMatch match;
  ExportedPlaces places;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::unique_ptr<EventSorter<perfetto::StepEvent>> steps;
  std::unique_ptr<EventSorter<perfetto::CollectiveEvent>> collectives;
  std::unique_ptr<EventSorter<perfetto::SampleEvent>> samples;
  perfetto::TimelineSizes sizes;

  // A time of a source on the axis; absurd ones, which only a damaged store has, are clamped.
  [[nodiscard]] int64_t Aligned(size_t rank_index, int64_t local_ns) const;
  // Exported ranks that are members of a group with this one: of small groups first (neighbours of a pipeline before
  // replicas), then the nearest.
  [[nodiscard]] std::vector<uint32_t> PeersOf(uint32_t place) const;
  // Whether --steps and --time let it through; kNoStep is of no step.
  [[nodiscard]] bool Selects(const TimelineOptions& options, int64_t start, int64_t end, int64_t step) const;
};

struct RunEventsOptions {
  std::string tmp_dir;
  int64_t memory_bytes = int64_t{48} << 20;  // of all sorters
  int32_t expected_ranks = -1;
};

// Errors: those of CheckRanks (several runs, no such rank), of the instances and of the disk; kCancelled after a stop.
[[nodiscard]] absl::StatusOr<RunEvents> CollectRunEvents(const LoadedRun& run, const TimelineOptions& asked,
                                                         const RunEventsOptions& options, NameTable& names,
                                                         Executor& executor, const std::stop_token& stop);

}  // namespace lockstep
