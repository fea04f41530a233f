// The condensed data of one source: what travels from a node to the aggregator. Raw events never do.
//
// All times are LocalTime nanoseconds (Unix axis as the source claims) in plain int64; the codec in proto/ packs them
// as deltas. Names are indices into the batch stream's own dictionary (NameDef), sent at first use. A batch is a pure
// function of the source's content and of kCondenseVersion: cut every 4,096 instances, 256 steps or 1 MiB, never by
// time or load.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/model/definitions.h"
#include "analysis/model/host_rows.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/kernel_row.h"
#include "analysis/model/memory_row.h"
#include "analysis/model/source_summary.h"
#include "analysis/model/step_row.h"

namespace lockstep {

// 2: batch version 2; no redundant Comms Ids. 3: what the host did in each step, ranges projected onto the device,
// steps found by their rhythm, phases, batch version 3. 4: more of the longest instances, one row for calls and ranges
// beyond the limit, time by phase in a step. 5: a row for every step that has an activity, in order of their windows;
// launches by thread; ranges of one name by whether they are tied to a thread. 6: what steps that interleave add twice.
// 7: launches are summed up at the source, batch version 4. 8: the places of the launches of a typical step.
// 9: the ranges around kernels.
inline constexpr int32_t kCondenseVersion = 9;

struct Batch {
  int64_t sequence = 0;                  // from 0, without holes
  std::optional<int64_t> total_batches;  // set on the last one only
  std::vector<NameDef> names;
  std::vector<LocalCommunicator> communicators;
  std::vector<InstanceRow> instances;  // in order of start, ties by stream then name
  std::vector<StepRow> steps;
  std::vector<BucketRow> buckets;
  std::vector<KernelRow> kernels;
  std::vector<StepKernelRow> step_kernels;
  std::vector<MemoryRow> memory;
  std::vector<ApiRow> apis;
  std::vector<RangeRow> ranges;
  std::vector<LaunchRow> launches;
  std::optional<SourceSummary> summary;  // on the last one only
  friend bool operator==(const Batch&, const Batch&) = default;
};

}  // namespace lockstep
