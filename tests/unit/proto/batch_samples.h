// Batches for the tests of codec and stores: seeded, deterministic, with every field in use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/batch.h"

namespace lockstep::samples {

// splitmix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // 0 .. n-1
  int64_t Below(int64_t n) { return static_cast<int64_t>(Bits() % static_cast<uint64_t>(n)); }
  bool Chance(int percent) { return Below(100) < percent; }
  template <typename T>
  T As(int64_t n) {
    return static_cast<T>(Below(n));
  }

 private:
  uint64_t state_;
};

inline constexpr int64_t kEpochNs = 1'700'000'000'000'000'000;

inline Sketch RandomSketch(Random& random, int64_t values) {
  Sketch sketch;
  for (int64_t i = 0; i < values; ++i) sketch.Add(random.Below(1'000'000));
  return sketch;
}

inline QuantileSummary RandomTimes(Random& random, int64_t values) {
  return QuantileSummary(RandomSketch(random, values));
}

inline IntervalMeasure RandomMeasure(Random& random, bool may_be_negative) {
  IntervalMeasure m;
  for (int64_t* part : {&m.span_ns, &m.compute_ns, &m.comm_ns, &m.copy_ns, &m.opaque_ns, &m.overlap_ns,
                        &m.strict_exposed_comm_ns, &m.copy_only_ns, &m.opaque_only_ns, &m.idle_host_ns,
                        &m.idle_launch_ns, &m.idle_dependency_ns, &m.idle_other_ns}) {
    *part = random.Below(10'000'000) - (may_be_negative ? 5'000'000 : 0);
  }
  return m;
}

inline NameDef MakeName(uint32_t id, const std::string& text) { return {id, HashOf(text), text}; }

inline LocalCommunicator RandomCommunicator(Random& random, uint32_t id) {
  LocalCommunicator c;
  c.id = id;
  c.known = random.Chance(80);
  c.group_name = "group " + std::to_string(id);
  c.group_desc = random.Chance(50) ? "mesh_tp" : "";
  for (int32_t rank = 0; rank < 4; ++rank) c.members.push_back(rank * 2 + static_cast<int32_t>(id));
  c.size = 4;
  c.comm_hash = random.Bits();
  c.own_rank = random.Chance(50) ? 2 : -1;
  c.elided_unresolved = random.Chance(10);
  return c;
}

// What a batch of a stream may refer to.
struct Known {
  uint32_t names = 0;
  uint32_t communicators = 0;
  int64_t instances = 0;
  int64_t last_start_ns = kEpochNs;
};

inline Segment RandomSegment(Random& random, int64_t start_ns, const Known& known) {
  Segment s;
  if (random.Chance(20)) return s;
  s.compute_ns = random.Below(100'000);
  s.copy_ns = random.Below(100);
  s.host_ns = random.Below(3'000);
  s.launch_ns = random.Below(2'000);
  s.dependency_ns = random.Below(1'000);
  s.rest_ns = random.Below(10);
  for (int64_t k = random.Below(3); known.instances > 0 && k > 0; --k) {
    s.tiles.push_back({random.Below(known.instances), random.Below(50'000), random.Below(5'000)});
    s.other_comm_ns += s.tiles.back().length_ns;
  }
  s.begin_ns =
      start_ns - s.compute_ns - s.copy_ns - s.other_comm_ns - s.host_ns - s.launch_ns - s.dependency_ns - s.rest_ns;
  if (random.Chance(30)) s.second_slack_ns = random.Below(50'000);
  return s;
}

inline InstanceRow RandomInstance(Random& random, const Known& known) {
  InstanceRow row;
  row.start_ns = known.last_start_ns + (random.Chance(10) ? 0 : random.Below(200'000));
  row.duration_ns = random.Below(60'000);
  if (random.Chance(70)) row.launch_start_ns = row.start_ns - random.Below(90'000);
  if (random.Chance(70)) row.launch_end_ns = row.start_ns - random.Below(9'000);
  if (random.Chance(60)) row.seq = random.Below(1'000'000);
  if (random.Chance(60)) row.bytes = random.Below(int64_t{1} << 40);
  if (random.Chance(60)) row.step = random.Below(100);
  if (random.Chance(40)) row.graph_launch = random.Below(1'000);
  if (random.Chance(40)) row.graph_position = random.Below(160);
  row.has_comms_id = random.Chance(50);
  row.comms_id = row.has_comms_id ? random.Bits() : 0;
  row.communicator = random.As<uint32_t>(known.communicators);
  row.name = random.As<uint32_t>(known.names);
  row.stream = random.As<int32_t>(30) - 1;
  row.peer = random.As<int32_t>(9) - 1;
  row.root = random.As<int32_t>(9) - 1;
  row.op = random.As<CollectiveOp>(15);
  row.dtype = random.As<DataType>(18);
  row.library = random.As<CollectiveLibrary>(18);
  row.segment = RandomSegment(random, row.start_ns, known);
  int64_t left = row.duration_ns;
  while (left > 100 && random.Chance(30)) {
    const int64_t gap = random.Below(left / 2);
    const int64_t length = random.Below(left / 2);
    row.cover.emplace_back(gap, length);
    left -= gap + length;
  }
  return row;
}

inline StepRow RandomStep(Random& random, int64_t number, const Known& known) {
  StepRow row;
  if (number >= 0) row.step = number;
  if (random.Chance(80)) row.name = random.As<uint32_t>(known.names);
  if (random.Chance(80)) row.host_start_ns = kEpochNs + random.Below(1'000'000);
  if (random.Chance(80)) row.host_end_ns = kEpochNs + random.Below(1'000'000);
  row.window_start_ns = kEpochNs + number * 1'000'000;
  row.window_end_ns = row.window_start_ns + 1'000'000;
  if (random.Chance(80)) row.first_start_ns = kEpochNs + random.Below(1'000'000);
  if (random.Chance(80)) row.last_end_ns = kEpochNs + random.Below(1'000'000);
  row.tile = RandomMeasure(random, false);
  row.before = RandomMeasure(random, true);
  row.after = RandomMeasure(random, true);
  row.foreign = RandomMeasure(random, true);
  row.launches = random.Below(1'000);
  row.kernels = random.Below(1'000);
  row.collectives = random.Below(100);
  row.collective_time_ns = random.Below(1'000'000);
  row.collective_max_ns = random.Below(1'000'000);
  row.kernel_time_ns = random.Below(1'000'000);
  row.longest_gap_ns = random.Below(100'000);
  row.launch_ns = random.Below(1'000'000);
  row.graph_launches = random.Below(10);
  row.sync_calls = random.Below(10);
  row.sync_ns = random.Below(1'000'000);
  row.alloc_calls = random.Below(10);
  row.alloc_ns = random.Below(1'000'000);
  row.alloc_max_ns = random.Below(100'000);
  row.host_copies = random.Below(10);
  row.host_copy_ns = random.Below(1'000'000);
  row.host_copy_bytes = random.Below(1'000'000);
  row.forward_ns = random.Below(1'000'000);
  row.backward_ns = random.Below(1'000'000);
  row.optimizer_ns = random.Below(1'000'000);
  static const char* const kPhases[] = {"", "decode", "prefill", "forward"};
  row.phase = kPhases[random.Below(4)];
  return row;
}

inline KernelRow RandomKernel(Random& random, const Known& known) {
  KernelRow row;
  row.name = random.As<uint32_t>(known.names);
  if (random.Chance(50)) row.mangled = random.As<uint32_t>(known.names);
  row.has_shape = random.Chance(70);
  if (row.has_shape) row.shape = {{random.As<int32_t>(3), 1, 1}, {128, 1, 1}};
  row.from_graph = random.Chance(30);
  row.phase = random.Chance(30) ? "decode" : "";
  row.kind = ClassifyKernel("kernel");
  for (int64_t slice = random.Below(3), n = slice + 1 + random.Below(3); slice < n; ++slice) {
    row.slices.emplace_back(slice, RandomSketch(random, 1 + random.Below(40)));
  }
  for (int64_t k = random.Below(9); k > 0; --k) {
    row.longest.push_back({kEpochNs + random.Below(1'000'000), k * 1'000 + random.Below(1'000),
                           random.Chance(50) ? random.Below(50) : kNoStep});
  }
  row.is_rest = random.Chance(5);
  Random of_range(row.name + 1);
  if (of_range.Chance(50)) row.range = of_range.As<uint32_t>(known.names);
  Random of_places(row.name);  // its own, so that all else is as it was
  for (uint32_t place = 0; place < 300; ++place) {
    if (of_places.Chance(10)) AddPlace(place, row.places);
  }
  return row;
}

inline void AddTables(Random& random, const Known& known, Batch* batch) {
  for (int i = 0; i < 12; ++i) batch->kernels.push_back(RandomKernel(random, known));
  for (int i = 0; i < 5; ++i) {
    batch->memory.push_back({random.Chance(30), random.As<CopyKind>(14), random.As<MemoryKind>(6),
                             random.As<MemoryKind>(6), random.Chance(80), random.Below(10), RandomSketch(random, 9),
                             RandomSketch(random, 8), RandomSketch(random, 7)});
    batch->apis.push_back({random.As<uint32_t>(known.names), random.As<ApiKind>(7), RandomSketch(random, 20),
                           RandomSketch(random, random.Below(3))});
    batch->ranges.push_back({random.As<uint32_t>(known.names), random.Chance(50) ? 0 : kNoId, random.As<HostKind>(5),
                             RandomSketch(random, 11), RandomSketch(random, random.Below(4))});
    batch->launches.push_back({random.As<uint32_t>(known.names), random.As<uint32_t>(known.names), random.Below(4) - 1,
                               random.Below(50), RandomTimes(random, 5), RandomTimes(random, 600),
                               RandomTimes(random, random.Below(2)), RandomTimes(random, 2'000)});
  }
}

inline SourceSummary RandomSummary(Random& random) {
  SourceSummary summary;
  summary.drops.Add(DropReason::kMissingLaunch, 1 + random.Below(100));
  summary.drops.Add(DropReason::kZeroTime, random.Below(100));
  summary.gaps = RandomSketch(random, 50);
  summary.streams = {{7, 1, 2, 3}, {13, random.Below(1'000), 5, 6}};
  summary.allocation = {{kEpochNs, 4'096}, {kEpochNs + 1'000, random.Below(1'000'000)}, {kEpochNs + 2'000, -512}};
  summary.allocation_peak_bytes = 1 << 30;
  summary.allocation_peak_at_ns = kEpochNs + 1'000;
  for (int64_t step = 0; step < 3; ++step) {
    summary.step_overlaps.push_back({step, step, RandomMeasure(random, false)});
    summary.step_overlaps.push_back({step, step + 1 + random.Below(5), RandomMeasure(random, true)});
  }
  return summary;
}

// A whole valid stream of one source.
inline std::vector<Batch> MakeStream(uint64_t seed, int64_t batches, int64_t instances) {
  Random random(seed);
  Known known;
  std::vector<Batch> stream;
  for (int64_t sequence = 0; sequence < batches; ++sequence) {
    Batch& batch = stream.emplace_back();
    batch.sequence = sequence;
    for (int i = 0; i < 5; ++i) {
      batch.names.push_back(MakeName(
          known.names, "kernel number " + std::to_string(random.Below(1'000)) + "." + std::to_string(known.names)));
      ++known.names;
    }
    batch.communicators.push_back(RandomCommunicator(random, known.communicators++));
    for (int64_t i = 0; i < instances; ++i) {
      batch.instances.push_back(RandomInstance(random, known));
      known.last_start_ns = batch.instances.back().start_ns;
      ++known.instances;
    }
    for (int64_t i = 0; i < 4; ++i) {
      batch.steps.push_back(RandomStep(random, sequence * 4 + i - 1, known));
      batch.buckets.push_back({1'000 + sequence * 4 + i, RandomMeasure(random, false)});
      batch.step_kernels.push_back({i == 0 ? kNoStep : sequence * 4 + i, random.As<uint32_t>(known.names),
                                    random.Below(100), random.Below(100'000)});
    }
    AddTables(random, known, &batch);
  }
  stream.back().total_batches = batches;
  stream.back().summary = RandomSummary(random);
  return stream;
}

// What CUPTI makes of a device clock that ticks every 32 ns: an affine conversion with a slope slightly below one.
inline int64_t OnDeviceClock(int64_t ns) {
  const int64_t since = (ns - kEpochNs) / 32 * 32;
  return kEpochNs + since - since / 60'000;
}

// One rank of a regular tensor-parallel decode: two all-reduces a layer replayed from a graph, times with the jitter of
// real ones (about 1 us), message sizes equal.
inline Batch MakeDecodeBatch(uint64_t seed, int64_t instances) {
  Random random(seed);
  const auto jitter = [&random](int64_t width) {  // triangular, zero mean
    return random.Below(width) + random.Below(width) - width + 1;
  };
  Batch batch;
  batch.names.push_back(MakeName(0, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"));
  batch.communicators.push_back(LocalCommunicator{});
  int64_t now = kEpochNs;  // true time; rows hold the device clock's
  int64_t previous_end = kEpochNs;
  int64_t launch_ns = kEpochNs;
  for (int64_t i = 0; i < instances; ++i) {
    const int64_t position = i % 160;
    if (position == 0) launch_ns = previous_end + 40'000 + jitter(8'000);
    InstanceRow row;
    now += (position % 2 == 0 ? 31'000 : 52'000) + jitter(600);
    const int64_t compute_end = OnDeviceClock(now);
    now += 1'000 + jitter(100);
    row.start_ns = OnDeviceClock(now);
    now += 14'000 + jitter(1'500);
    row.duration_ns = OnDeviceClock(now) - row.start_ns;
    row.launch_start_ns = launch_ns;
    row.launch_end_ns = launch_ns + 90'000;
    row.bytes = 16'384;
    row.step = i / 160;
    row.graph_launch = i / 160;
    row.graph_position = position;
    row.stream = 20;
    row.op = CollectiveOp::kAllReduce;
    row.dtype = DataType::kBfloat16;
    row.library = CollectiveLibrary::kNccl;
    if (i > 0) {
      row.segment.begin_ns = previous_end;
      row.segment.compute_ns = compute_end - previous_end;
      row.segment.launch_ns = row.start_ns - compute_end;
    }
    previous_end = row.end_ns();
    batch.instances.push_back(std::move(row));
  }
  return batch;
}

inline SourceContext MakeContext(uint64_t seed) {
  Random random(seed);
  SourceContext c;
  c.source_id = {random.Bits(), random.Bits()};
  c.path = "traces/rank_" + std::to_string(seed) + ".json";
  c.format = "kineto";
  c.tool_version = "2.5.0";
  c.schema_version = "1";
  c.pid = 4'000 + static_cast<int64_t>(seed);
  c.device = static_cast<int32_t>(seed % 8);
  c.claims = {{static_cast<int32_t>(seed), RankSource::kMetadata}, {static_cast<int32_t>(seed), RankSource::kFileName}};
  c.world_size = 4;
  c.host = "node-a";
  c.host_source = HostSource::kTrace;
  c.session = "s1";
  c.gpu = {c.device, c.pid, "H100", "GPU-1234", "0000:01:00.0", 132, 3'350'000'000'000};
  c.versions = {{"cuda", "12.4"}, {"nccl", "2.20.5"}};
  c.options = {{"with_stack", "false"}};
  c.groups = {{"0", "default_pg", {0, 1, 2, 3}, 4, random.Bits(), 1}, {"1", "", {}, -1, 0, -1}};
  c.diagnostics = {"buffer overflow: 3 records lost"};
  c.base_unix_ns = kEpochNs;
  c.capture_start_ns = kEpochNs;
  c.capture_end_ns = kEpochNs + 1'000'000'000;
  c.first_start_ns = kEpochNs + 5;
  c.last_end_ns = kEpochNs + 999'999'999;
  for (int64_t* count : {&c.kernels, &c.collectives, &c.memcpys, &c.memsets, &c.graph_spans, &c.graph_kernels,
                         &c.kernel_time_ns, &c.api_rows, &c.opaque_graph_launches, &c.overhead_ns}) {
    *count = random.Below(1'000'000);
  }
  c.slice_ns = int64_t{1} << 27;
  c.bucket_ns = int64_t{1} << 22;
  c.processes_in_file = 2;
  c.classifier_version = 3;
  c.condense_version = 1;
  return c;
}

}  // namespace lockstep::samples
