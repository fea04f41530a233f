// The condensed data of one source: what travels from a node to the aggregator. Raw events never do.
//
// All times are LocalTime nanoseconds (Unix axis as the source claims) in plain int64; the codec in proto/ packs them
// as deltas. Names are indices into the batch stream's own dictionary (NameDef), sent at first use. A batch is a pure
// function of the source's content and of kCondenseVersion: cut every 4,096 instances, 256 steps or 1 MiB, never by
// time or load.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/base/few.h"
#include "analysis/base/hash128.h"
#include "analysis/model/collective.h"
#include "analysis/model/kernel_class.h"
#include "analysis/model/source.h"
#include "analysis/model/trace_record.h"
#include "analysis/stats/quantile_summary.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

// 2: batch version 2; no redundant Comms Ids. 3: what the host did in each step, ranges projected onto the device,
// steps found by their rhythm, phases, batch version 3. 4: more of the longest instances, one row for calls and ranges
// beyond the limit, time by phase in a step. 5: a row for every step that has an activity, in order of their windows;
// launches by thread; ranges of one name by whether they are tied to a thread. 6: what steps that interleave add twice.
// 7: launches are summed up at the source, batch version 4.
inline constexpr int32_t kCondenseVersion = 7;
inline constexpr int64_t kNoStep = INT64_MIN;  // an activity or instance of no step
inline constexpr int64_t kNoTime = INT64_MIN;  // a time that was not recorded
inline constexpr size_t kMaxExemplars = 256;   // longest instances kept of one kernel key

// INT64_MIN never travels: optional fields on the wire stand for kNoStep and kNoTime.

struct NameDef {
  uint32_t id = 0;   // dense from 0 in order of first use within the source
  Hash128 hash;      // of the whole name, also when the text below is cut
  std::string text;  // at most 4 KiB; a longer one is cut and carries its hash as suffix
  friend bool operator==(const NameDef&, const NameDef&) = default;
};

// A communicator as one source knows it. Index = position in the stream of definitions.
struct LocalCommunicator {
  uint32_t id = 0;
  bool known = false;  // false: the trace says nothing about membership; one such entry per source
  std::string group_name;
  std::string group_desc;
  std::vector<int32_t> members;  // sorted global ranks; empty = not known
  int32_t size = -1;
  uint64_t comm_hash = 0;
  int32_t own_rank = -1;  // rank of this source inside the communicator
  bool elided_unresolved = false;
  friend bool operator==(const LocalCommunicator&, const LocalCommunicator&) = default;
};

// Time that other communication took in the segment before an instance: at `offset_ns` after the segment's begin the
// instance with ordinal `instance` (position in the source's INST stream) covered `length_ns`.
struct OtherCommTile {
  int64_t instance = 0;
  int64_t offset_ns = 0;
  int64_t length_ns = 0;
  friend bool operator==(const OtherCommTile&, const OtherCommTile&) = default;
};

// The segment of a source before one instance: from the end of the previous instance of the same communicator (or the
// first activity) to this start. The parts tile it exactly: begin + sum of parts = start.
struct Segment {
  int64_t begin_ns = kNoTime;  // kNoTime: no segment (first instance of the communicator)
  int64_t compute_ns = 0;
  int64_t copy_ns = 0;
  int64_t other_comm_ns = 0;  // = sum of the tiles
  int64_t host_ns = 0;
  int64_t launch_ns = 0;
  int64_t dependency_ns = 0;
  int64_t rest_ns = 0;
  int64_t second_slack_ns = -1;  // how much earlier the second predecessor ended; kept under 50 us, else -1
  Few<OtherCommTile> tiles;
  friend bool operator==(const Segment&, const Segment&) = default;
};

// One communication kernel (or identified copy-engine collective) of the source.
struct InstanceRow {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t launch_start_ns = kNoTime;
  int64_t launch_end_ns = kNoTime;
  int64_t seq = kNoSeq;
  int64_t bytes = kUnknownBytes;
  int64_t step = kNoStep;     // the step number by launch
  int64_t graph_launch = -1;  // ordinal of the graph launch in the source, and the position inside it
  int64_t graph_position = -1;
  uint64_t comms_id = 0;
  uint32_t communicator = 0;  // LocalCommunicator::id
  uint32_t name = 0;          // NameDef::id
  int32_t stream = -1;
  int32_t peer = -1;
  int32_t root = -1;
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  CollectiveLibrary library = CollectiveLibrary::kNone;
  bool has_comms_id = false;
  Segment segment;
  // Merged compute intervals clipped to the instance, as (gap from the previous end, length); the first gap counts from
  // the start of the instance. Empty for most.
  Few<std::pair<int64_t, int64_t>> cover;

  [[nodiscard]] int64_t end_ns() const { return start_ns + duration_ns; }
  friend bool operator==(const InstanceRow&, const InstanceRow&) = default;
};

// Lengths of the sets of definitions.md over some window of one source. M = communication kernels, C = other kernels,
// Y = copies and memsets, G = graph-level spans; all after merging. Identity, exact:
// compute + (comm - overlap) + copy_only + opaque_only + idle() = span.
// Differences of measures (StepRow::before, after, foreign) may be negative.
struct IntervalMeasure {
  int64_t span_ns = 0;
  int64_t compute_ns = 0;              // |C|
  int64_t comm_ns = 0;                 // |M|
  int64_t copy_ns = 0;                 // |Y|
  int64_t opaque_ns = 0;               // |G|
  int64_t overlap_ns = 0;              // |M n C|
  int64_t strict_exposed_comm_ns = 0;  // |M \ (C u Y)|
  int64_t copy_only_ns = 0;            // |Y \ (C u M)|
  int64_t opaque_only_ns = 0;          // |G \ (C u M u Y)|
  int64_t idle_host_ns = 0;
  int64_t idle_launch_ns = 0;
  int64_t idle_dependency_ns = 0;
  int64_t idle_other_ns = 0;

  [[nodiscard]] int64_t exposed_comm_ns() const { return comm_ns - overlap_ns; }
  [[nodiscard]] int64_t idle_ns() const { return idle_host_ns + idle_launch_ns + idle_dependency_ns + idle_other_ns; }
  [[nodiscard]] int64_t busy_ns() const { return span_ns - idle_ns(); }
  void Add(const IntervalMeasure& other);
  void Subtract(const IntervalMeasure& other);
  friend bool operator==(const IntervalMeasure&, const IntervalMeasure&) = default;
};

// One step of the source. `tile` measures the device window [window_start, window_end): from its first activity to the
// first one of any later row. The windows tile the span; rows come in order of their windows, which need not be that of
// the steps' numbers. Selecting rows A..B by launch: sum of (tile - foreign) - before(A) + after(B), where
//   before  what activities of earlier rows add inside this and later windows (to be taken away), and
//   after   what activities of this and earlier rows add beyond window_end (to be added), the idle tail trimmed
//          (exact as long as such leftovers end inside the windows and span selected), and
// foreign  (every row selected) what activities launched in no step add inside the window (to be taken away).
struct StepRow {
  int64_t step = kNoStep;  // the trace's number, else ordinal; kNoStep: before the first step
  uint32_t name = kNoId;   // NameDef::id of the range
  int64_t host_start_ns = kNoTime;
  int64_t host_end_ns = kNoTime;
  int64_t window_start_ns = 0;
  int64_t window_end_ns = 0;
  int64_t first_start_ns = kNoTime;  // of the members by launch
  int64_t last_end_ns = kNoTime;
  IntervalMeasure tile;
  IntervalMeasure before;
  IntervalMeasure after;
  IntervalMeasure foreign;
  int64_t launches = 0;  // launch calls that start in the step
  int64_t kernels = 0;
  int64_t collectives = 0;
  int64_t collective_time_ns = 0;
  int64_t collective_max_ns = 0;
  int64_t kernel_time_ns = 0;
  int64_t longest_gap_ns = 0;
  // What the host did, by the start of each call.
  int64_t launch_ns = 0;       // time in the calls that `launches` counts
  int64_t graph_launches = 0;  // those of them that launch a CUDA graph
  int64_t sync_calls = 0;      // calls that wait for the device
  int64_t sync_ns = 0;
  int64_t alloc_calls = 0;  // device memory allocated or released
  int64_t alloc_ns = 0;
  int64_t alloc_max_ns = 0;
  // Copies between host and device memory, members by launch.
  int64_t host_copies = 0;
  int64_t host_copy_ns = 0;
  int64_t host_copy_bytes = 0;  // of those whose size is known
  // Kernel time launched inside annotations of these phases; what stands in none is in neither.
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t optimizer_ns = 0;
  std::string phase;  // "" = unknown
  friend bool operator==(const StepRow&, const StepRow&) = default;
};

struct BucketRow {
  int64_t index = 0;  // floor(time / bucket_ns): buckets of all sources lie on one grid
  IntervalMeasure measure;
  friend bool operator==(const BucketRow&, const BucketRow&) = default;
};

struct Exemplar {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  int64_t step = kNoStep;
  friend bool operator==(const Exemplar&, const Exemplar&) = default;
};

// Durations of one kernel key, one sketch per time slice.
struct KernelRow {
  uint32_t name = 0;
  uint32_t mangled = kNoId;
  LaunchShape shape;
  bool has_shape = false;
  bool from_graph = false;
  std::string phase;
  KernelClass kind;
  std::vector<std::pair<int64_t, Sketch>> slices;  // (slice index = floor(start / slice_ns), durations), ascending
  std::vector<Exemplar> longest;                   // at most kMaxExemplars, longest first, then earliest
  bool is_rest = false;                            // the counted remainder beyond the key limit
  friend bool operator==(const KernelRow&, const KernelRow&) = default;
};

// Exact totals of the 32 largest names, per step (by launch).
struct StepKernelRow {
  int64_t step = kNoStep;
  uint32_t name = 0;
  int64_t instances = 0;
  int64_t total_ns = 0;
  friend bool operator==(const StepKernelRow&, const StepKernelRow&) = default;
};

// Copies and memsets by kind.
struct MemoryRow {
  bool is_memset = false;
  CopyKind kind = CopyKind::kUnknown;
  MemoryKind source = MemoryKind::kUnknown;
  MemoryKind target = MemoryKind::kUnknown;
  bool on_device = true;  // false: host-to-host or unified-memory migration, no device activity
  int64_t blocking = 0;   // operations whose call returned only after the copy had ended
  Sketch duration;
  Sketch bytes;                  // operations of known size
  Sketch bandwidth_bytes_per_s;  // operations of known size and non-zero duration
  friend bool operator==(const MemoryRow&, const MemoryRow&) = default;
};

// Runtime and driver calls by name. launch_delay: start of the activity - end of the call (>= 0 only).
struct ApiRow {
  uint32_t name = 0;
  ApiKind kind = ApiKind::kOther;
  Sketch duration;
  Sketch launch_delay;
  friend bool operator==(const ApiRow&, const ApiRow&) = default;
};

// NVTX ranges and annotations by name.
struct RangeRow {
  uint32_t name = 0;
  uint32_t domain = kNoId;
  HostKind style = HostKind::kRange;
  Sketch duration;
  // Of the ranges inside which device work was launched (on their thread): first start to last end of that work.
  Sketch projected;
  friend bool operator==(const RangeRow&, const RangeRow&) = default;
};

// Launch -> queue -> run by (API name, kernel name, launching thread). A source has one row of each: nothing is merged
// with it, and what the report says of it is all that travels.
struct LaunchRow {
  uint32_t api = 0;
  uint32_t kernel = 0;
  int64_t tid = -1;  // -1: not known
  int64_t queue_count = 0;
  QuantileSummary total;
  QuantileSummary api_time;
  QuantileSummary queue;
  QuantileSummary kernel_time;
  friend bool operator==(const LaunchRow&, const LaunchRow&) = default;
};

// Idle gaps of one stream, HTA's categories.
struct StreamIdleRow {
  int32_t stream = -1;
  int64_t host_wait_ns = 0;
  int64_t kernel_wait_ns = 0;
  int64_t other_ns = 0;
  friend bool operator==(const StreamIdleRow&, const StreamIdleRow&) = default;
};

struct AllocationPoint {
  int64_t time_ns = 0;
  int64_t level_bytes = 0;
  friend bool operator==(const AllocationPoint&, const AllocationPoint&) = default;
};

// Work of steps that interleave, as ranges inside one another do. The time in which anything of the steps A..B runs is
// the sum of the rows of single steps in it (lower == upper), less that of the rows of two steps both in it.
struct StepOverlapRow {
  int64_t lower = 0;  // numbers of steps
  int64_t upper = 0;
  IntervalMeasure measure;  // span: anything runs; no idle. Of two steps a correction: fields may be negative
  friend bool operator==(const StepOverlapRow&, const StepOverlapRow&) = default;
};
inline constexpr size_t kMaxStepOverlaps = size_t{1} << 15;

// What is known only at the end of a source.
struct SourceSummary {
  DropCounters drops;
  Sketch gaps;  // idle gaps of the device
  std::vector<StreamIdleRow> streams;
  std::vector<AllocationPoint> allocation;
  int64_t allocation_peak_bytes = -1;
  int64_t allocation_peak_at_ns = kNoTime;
  // Ascending by (lower, upper). Empty where the step rows tell of every selection, where too many steps interleave,
  // and of sources condensed before version 6.
  std::vector<StepOverlapRow> step_overlaps;
  friend bool operator==(const SourceSummary&, const SourceSummary&) = default;
};

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
