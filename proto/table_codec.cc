#include "proto/table_codec.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/base/utf8.h"
#include "analysis/model/batch.h"
#include "analysis/model/row_values.h"
#include "proto/column_codec.h"
#include "proto/column_reader.h"
#include "proto/context_codec.h"
#include "proto/step_codec.h"

namespace lockstep {
namespace {

using codec::CheckRange;
using codec::Column;
using codec::GetEnum;
using codec::GetSketch;
using codec::kAmountLimits;
using codec::kNameLimits;
using codec::kTimeLimits;
using codec::Limits;
using codec::PutSketch;

constexpr Limits kDuration = {0, codec::kMaxLengthNs};
constexpr Limits kStep = {kNoStep + 1, codec::kAnyMax};
constexpr int kShapeNumbers = 6;

void PutKind(const KernelClass& kind, v1::KernelClass* out) {
  out->set_category(static_cast<uint32_t>(kind.category));
  out->set_family(static_cast<uint32_t>(kind.family));
  out->set_library(static_cast<uint32_t>(kind.library));
  out->set_op(static_cast<uint32_t>(kind.op));
  out->set_dtype(static_cast<uint32_t>(kind.dtype));
}

absl::Status GetKind(const v1::KernelClass& in, KernelClass* out) {
  LOCKSTEP_RETURN_IF_ERROR(GetEnum("kernel category", in.category(), Category::kCommunication, &out->category));
  LOCKSTEP_RETURN_IF_ERROR(GetEnum("kernel family", in.family(), kLastFamily, &out->family));
  LOCKSTEP_RETURN_IF_ERROR(GetEnum("kernel library", in.library(), kLastCollectiveLibrary, &out->library));
  LOCKSTEP_RETURN_IF_ERROR(GetEnum("kernel op", in.op(), CollectiveOp::kAllGatherV, &out->op));
  return GetEnum("kernel dtype", in.dtype(), DataType::kComplex128, &out->dtype);
}

void PutSlices(const KernelRow& row, v1::Kernel* out) {
  for (const auto& [index, sketch] : row.slices) {
    v1::KernelSlice* slice = out->add_slices();
    slice->set_index(index);
    PutSketch(sketch, slice->mutable_duration_ns());
  }
}

// All of a kernel but its longest instances.
void PutKernelAlone(const KernelRow& row, v1::Kernel* out) {
  out->set_name(row.name);
  if (row.mangled != kNoId) out->set_mangled(row.mangled);
  if (row.range != kNoId) out->set_range(row.range);
  if (row.has_shape) {
    for (const int32_t n : row.shape.grid) out->add_shape(n);
    for (const int32_t n : row.shape.block) out->add_shape(n);
  }
  out->set_from_graph(row.from_graph);
  out->set_phase(RepairUtf8(row.phase));
  PutKind(row.kind, out->mutable_kind());
  PutSlices(row, out);
  codec::PutDeltas(std::vector<int64_t>(row.places.begin(), row.places.end()), out->mutable_places());
  out->set_is_rest(row.is_rest);
}

// Starts are never left out: rows that take no bytes would be unbounded.
constexpr Column<Exemplar, v1::ExemplarColumns> kExemplarColumns[] = {
    LOCKSTEP_COLUMN(Exemplar, v1::ExemplarColumns, start_ns, start_ns, kNoTime, {kTimeLimits}),
    LOCKSTEP_COLUMN(Exemplar, v1::ExemplarColumns, duration_ns, duration_ns, 0, {kDuration}),
};

// In order of start: their order by duration need not be told, that of their starts would cost more than it saves.
void PutLongest(std::vector<Exemplar> longest, v1::ExemplarColumns* out) {
  std::sort(longest.begin(), longest.end(), [](const Exemplar& a, const Exemplar& b) {
    return std::tie(a.start_ns, a.duration_ns, a.step) < std::tie(b.start_ns, b.duration_ns, b.step);
  });
  out->set_rows(static_cast<uint32_t>(longest.size()));
  codec::EncodeColumns<Exemplar, v1::ExemplarColumns>(kExemplarColumns, codec::PointersTo(longest), out);
  codec::Sparse steps;
  for (const Exemplar& exemplar : longest) {
    steps.push_back(exemplar.step == kNoStep ? std::nullopt : std::optional(exemplar.step));
  }
  codec::PutSparse(steps, out->mutable_step());
}

void PutKernel(const KernelRow& row, v1::Kernel* out) {
  PutKernelAlone(row, out);
  if (!row.longest.empty()) PutLongest(row.longest, out->mutable_longest_instances());
}

absl::Status GetShape(const v1::Kernel& in, KernelRow* row) {
  row->has_shape = in.shape_size() > 0;
  if (!row->has_shape) return absl::OkStatus();
  if (in.shape_size() != kShapeNumbers) {
    return absl::InvalidArgumentError(fmt::format("kernel shape: {} numbers, expected none or 6", in.shape_size()));
  }
  for (int i = 0; i < 3; ++i) {
    row->shape.grid[i] = in.shape(i);
    row->shape.block[i] = in.shape(i + 3);
  }
  return absl::OkStatus();
}

absl::Status GetSlices(const v1::Kernel& in, KernelRow* row) {
  for (const v1::KernelSlice& slice : in.slices()) {
    if (!row->slices.empty() && slice.index() <= row->slices.back().first) {
      return absl::InvalidArgumentError(fmt::format("kernel slices: index {} not ascending", slice.index()));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(Sketch sketch, GetSketch("kernel slice", slice.duration_ns()));
    row->slices.emplace_back(slice.index(), std::move(sketch));
  }
  return absl::OkStatus();
}

// One by one, as up to batch version 3.
absl::Status GetExemplars(const v1::Kernel& in, std::vector<Exemplar>* longest) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("kernel longest: entries", in.longest_size(), {0, int64_t{kMaxExemplars}}));
  for (const v1::Exemplar& entry : in.longest()) {
    Exemplar exemplar;
    exemplar.start_ns = entry.start_ns();
    exemplar.duration_ns = entry.duration_ns();
    if (entry.has_step()) exemplar.step = entry.step();
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("kernel longest: start", exemplar.start_ns, kTimeLimits));
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("kernel longest: duration", exemplar.duration_ns, kDuration));
    longest->push_back(exemplar);
  }
  return absl::OkStatus();
}

absl::Status GetExemplars(const v1::ExemplarColumns& in, std::vector<Exemplar>* longest) {
  using Columns = v1::ExemplarColumns;
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("kernel longest: rows", in.rows(), {0, int64_t{kMaxExemplars}}));
  const size_t rows = in.rows();
  LOCKSTEP_ASSIGN_OR_RETURN(const codec::Numbers starts,
                            codec::GetNumbers("kernel longest: start", in.packed(), Columns::kStartNsFieldNumber,
                                              in.start_ns(), rows, kNoTime, kTimeLimits));
  if (rows > 0 && starts.is_one()) return absl::InvalidArgumentError("kernel longest: rows without starts");
  LOCKSTEP_ASSIGN_OR_RETURN(const codec::Numbers durations,
                            codec::GetNumbers("kernel longest: duration", in.packed(), Columns::kDurationNsFieldNumber,
                                              in.duration_ns(), rows, 0, kDuration));
  LOCKSTEP_ASSIGN_OR_RETURN(const codec::Sparse steps,
                            codec::GetSparse("kernel longest: step", in.step(), rows, kStep));
  for (size_t i = 0; i < rows; ++i) longest->push_back({starts[i], durations[i], steps[i].value_or(kNoStep)});
  return absl::OkStatus();
}

absl::Status GetLongest(const v1::Kernel& in, KernelRow* row) {
  LOCKSTEP_RETURN_IF_ERROR(in.has_longest_instances() ? GetExemplars(in.longest_instances(), &row->longest)
                                                      : GetExemplars(in, &row->longest));
  std::sort(row->longest.begin(), row->longest.end(), [](const Exemplar& a, const Exemplar& b) {
    return std::tie(b.duration_ns, a.start_ns, a.step) < std::tie(a.duration_ns, b.start_ns, b.step);
  });
  return absl::OkStatus();
}

absl::Status GetPlaces(const v1::Kernel& in, KernelRow* row) {
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("kernel places: entries", in.places_size(), {0, int64_t{kMaxPlaces}}));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto places,
                            codec::GetColumn("kernel places", in.places(), static_cast<size_t>(in.places_size()), 0,
                                             {0, std::numeric_limits<uint32_t>::max()}));
  for (const int64_t place : places) {
    if (!row->places.empty() && place <= row->places.back()) {
      return absl::InvalidArgumentError(fmt::format("kernel places: {} not ascending", place));
    }
    row->places.push_back(static_cast<uint32_t>(place));
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelRow> GetKernel(const v1::Kernel& in) {
  KernelRow row;
  row.name = in.name();
  row.mangled = in.has_mangled() ? in.mangled() : kNoId;
  row.range = in.has_range() ? in.range() : kNoId;
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("kernel name", row.name, kNameLimits));
  LOCKSTEP_RETURN_IF_ERROR(GetShape(in, &row));
  LOCKSTEP_RETURN_IF_ERROR(GetKind(in.kind(), &row.kind));
  LOCKSTEP_RETURN_IF_ERROR(GetSlices(in, &row));
  LOCKSTEP_RETURN_IF_ERROR(GetLongest(in, &row));
  LOCKSTEP_RETURN_IF_ERROR(GetPlaces(in, &row));
  row.from_graph = in.from_graph();
  row.phase = in.phase();
  row.is_rest = in.is_rest();
  return row;
}

void PutMemory(const MemoryRow& row, v1::MemoryOperations* out) {
  out->set_is_memset(row.is_memset);
  out->set_kind(static_cast<uint32_t>(row.kind));
  out->set_source(static_cast<uint32_t>(row.source));
  out->set_target(static_cast<uint32_t>(row.target));
  out->set_on_device(row.on_device);
  out->set_blocking(row.blocking);
  PutSketch(row.duration, out->mutable_duration_ns());
  PutSketch(row.bytes, out->mutable_size_bytes());
  PutSketch(row.bandwidth_bytes_per_s, out->mutable_bandwidth_bytes_per_s());
}

absl::StatusOr<MemoryRow> GetMemory(const v1::MemoryOperations& in) {
  MemoryRow row;
  row.is_memset = in.is_memset();
  row.on_device = in.on_device();
  row.blocking = in.blocking();
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("memory blocking", row.blocking, kAmountLimits));
  LOCKSTEP_RETURN_IF_ERROR(GetEnum("memory kind", in.kind(), CopyKind::kUnifiedDeviceToDevice, &row.kind));
  LOCKSTEP_RETURN_IF_ERROR(GetEnum("memory source", in.source(), MemoryKind::kManaged, &row.source));
  LOCKSTEP_RETURN_IF_ERROR(GetEnum("memory target", in.target(), MemoryKind::kManaged, &row.target));
  LOCKSTEP_ASSIGN_OR_RETURN(row.duration, GetSketch("memory duration", in.duration_ns()));
  LOCKSTEP_ASSIGN_OR_RETURN(row.bytes, GetSketch("memory size", in.size_bytes()));
  LOCKSTEP_ASSIGN_OR_RETURN(row.bandwidth_bytes_per_s, GetSketch("memory bandwidth", in.bandwidth_bytes_per_s()));
  return row;
}

void PutApi(const ApiRow& row, v1::ApiCalls* out) {
  out->set_name(row.name);
  out->set_kind(static_cast<uint32_t>(row.kind));
  PutSketch(row.duration, out->mutable_duration_ns());
  PutSketch(row.launch_delay, out->mutable_launch_delay_ns());
}

absl::StatusOr<ApiRow> GetApi(const v1::ApiCalls& in) {
  ApiRow row;
  row.name = in.name();
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("api name", row.name, kNameLimits));
  LOCKSTEP_RETURN_IF_ERROR(GetEnum("api kind", in.kind(), ApiKind::kAlloc, &row.kind));
  LOCKSTEP_ASSIGN_OR_RETURN(row.duration, GetSketch("api duration", in.duration_ns()));
  LOCKSTEP_ASSIGN_OR_RETURN(row.launch_delay, GetSketch("api launch delay", in.launch_delay_ns()));
  return row;
}

void PutRange(const RangeRow& row, v1::Ranges* out) {
  out->set_name(row.name);
  if (row.domain != kNoId) out->set_domain(row.domain);
  out->set_style(static_cast<uint32_t>(row.style));
  PutSketch(row.duration, out->mutable_duration_ns());
  PutSketch(row.projected, out->mutable_projected_ns());
}

absl::StatusOr<RangeRow> GetRange(const v1::Ranges& in) {
  RangeRow row;
  row.name = in.name();
  row.domain = in.has_domain() ? in.domain() : kNoId;
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("range name", row.name, kNameLimits));
  LOCKSTEP_RETURN_IF_ERROR(GetEnum("range style", in.style(), HostKind::kCollective, &row.style));
  LOCKSTEP_ASSIGN_OR_RETURN(row.duration, GetSketch("range duration", in.duration_ns()));
  LOCKSTEP_ASSIGN_OR_RETURN(row.projected, GetSketch("range projected", in.projected_ns()));
  return row;
}

// An empty one makes no message.
void PutTimes(const QuantileSummary& summary, v1::QuantileSummary* (v1::Launches::*field)(), v1::Launches* out) {
  if (summary.empty()) return;
  v1::QuantileSummary* const message = (out->*field)();
  const QuantileSummary::Facts& facts = summary.facts();
  message->set_count(facts.count);
  message->set_sum(facts.sum);
  message->set_stddev(facts.stddev);
  codec::PutDeltas(facts.values, message->mutable_values());
  codec::PutDeltas(std::vector<int64_t>(facts.buckets.begin(), facts.buckets.end()), message->mutable_buckets());
}

absl::StatusOr<QuantileSummary> GetTimes(std::string_view what, const v1::QuantileSummary& in) {
  constexpr Limits kBucket = {std::numeric_limits<int16_t>::min(), std::numeric_limits<int16_t>::max()};
  QuantileSummary::Facts facts;
  facts.count = in.count();
  facts.sum = in.sum();
  facts.stddev = in.stddev();
  const auto values = static_cast<size_t>(in.values_size());
  LOCKSTEP_ASSIGN_OR_RETURN(facts.values, codec::GetColumn(what, in.values(), values, 0, {0, codec::kAnyMax}));
  const auto buckets = static_cast<size_t>(in.buckets_size());
  LOCKSTEP_ASSIGN_OR_RETURN(const auto indices, codec::GetColumn(what, in.buckets(), buckets, 0, kBucket));
  facts.buckets.assign(indices.begin(), indices.end());
  absl::StatusOr<QuantileSummary> summary = QuantileSummary::FromFacts(std::move(facts));
  if (summary.ok()) return summary;
  return absl::InvalidArgumentError(fmt::format("{}: {}", what, std::string(summary.status().message())));
}

// Up to batch version 3 launches were told by sketches.
absl::Status GetTimes(std::string_view what, bool has_summary, const v1::QuantileSummary& summary,
                      std::string_view sketch, QuantileSummary* times) {
  if (has_summary) {
    LOCKSTEP_ASSIGN_OR_RETURN(*times, GetTimes(what, summary));
  } else {
    LOCKSTEP_ASSIGN_OR_RETURN(const Sketch values, GetSketch(what, sketch));
    *times = QuantileSummary(values);
  }
  return absl::OkStatus();
}

void PutLaunch(const LaunchRow& row, v1::Launches* out) {
  out->set_api(row.api);
  out->set_kernel(row.kernel);
  out->set_queue_count(row.queue_count);
  PutTimes(row.total, &v1::Launches::mutable_total, out);
  PutTimes(row.api_time, &v1::Launches::mutable_api_time, out);
  PutTimes(row.queue, &v1::Launches::mutable_queue, out);
  PutTimes(row.kernel_time, &v1::Launches::mutable_kernel_time, out);
  if (row.tid >= 0) out->set_tid(row.tid);
}

absl::StatusOr<LaunchRow> GetLaunch(const v1::Launches& in) {
  LaunchRow row;
  row.api = in.api();
  row.kernel = in.kernel();
  row.queue_count = in.queue_count();
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("launch api", row.api, kNameLimits));
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("launch kernel", row.kernel, kNameLimits));
  LOCKSTEP_RETURN_IF_ERROR(CheckRange("launch queue_count", row.queue_count, kAmountLimits));
  LOCKSTEP_RETURN_IF_ERROR(GetTimes("launch total", in.has_total(), in.total(), in.total_ns(), &row.total));
  LOCKSTEP_RETURN_IF_ERROR(GetTimes("launch api time", in.has_api_time(), in.api_time(), in.api_ns(), &row.api_time));
  LOCKSTEP_RETURN_IF_ERROR(GetTimes("launch queue", in.has_queue(), in.queue(), in.queue_ns(), &row.queue));
  LOCKSTEP_RETURN_IF_ERROR(
      GetTimes("launch kernel time", in.has_kernel_time(), in.kernel_time(), in.kernel_ns(), &row.kernel_time));
  if (in.has_tid()) {
    row.tid = in.tid();
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("launch tid", row.tid, kAmountLimits));
  }
  return row;
}

void PutSummary(const SourceSummary& summary, v1::SourceSummary* out) {
  ToProto(summary.drops, out->mutable_drops());
  PutSketch(summary.gaps, out->mutable_gap_ns());
  for (const StreamIdleRow& row : summary.streams) {
    v1::StreamIdle* entry = out->add_streams();
    entry->set_stream(row.stream);
    entry->set_host_wait_ns(row.host_wait_ns);
    entry->set_kernel_wait_ns(row.kernel_wait_ns);
    entry->set_other_ns(row.other_ns);
  }
  std::vector<int64_t> times, levels;
  for (const AllocationPoint& point : summary.allocation) {
    times.push_back(point.time_ns);
    levels.push_back(point.level_bytes);
  }
  codec::PutDeltas(times, out->mutable_allocation_time_ns());
  codec::PutDeltas(levels, out->mutable_allocation_level_bytes());
  if (summary.allocation_peak_bytes >= 0) out->set_allocation_peak_bytes(summary.allocation_peak_bytes);
  if (summary.allocation_peak_at_ns != kNoTime) out->set_allocation_peak_at_ns(summary.allocation_peak_at_ns);
  if (!summary.step_overlaps.empty()) EncodeStepOverlaps(summary.step_overlaps, out->mutable_step_overlaps());
}

absl::Status GetStreams(const v1::SourceSummary& in, SourceSummary* summary) {
  for (const v1::StreamIdle& entry : in.streams()) {
    for (const int64_t value : {entry.host_wait_ns(), entry.kernel_wait_ns(), entry.other_ns()}) {
      LOCKSTEP_RETURN_IF_ERROR(CheckRange("stream idle", value, kAmountLimits));
    }
    summary->streams.push_back({entry.stream(), entry.host_wait_ns(), entry.kernel_wait_ns(), entry.other_ns()});
  }
  return absl::OkStatus();
}

absl::Status GetAllocation(const v1::SourceSummary& in, SourceSummary* summary) {
  const auto points = static_cast<size_t>(in.allocation_time_ns_size());
  if (in.allocation_level_bytes_size() != in.allocation_time_ns_size()) {
    return absl::InvalidArgumentError(
        fmt::format("allocation: {} levels for {} times", in.allocation_level_bytes_size(), points));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const auto times,
                            codec::GetColumn("allocation time", in.allocation_time_ns(), points, 0, kTimeLimits));
  LOCKSTEP_ASSIGN_OR_RETURN(const auto levels,
                            codec::GetColumn("allocation level", in.allocation_level_bytes(), points, 0, {}));
  for (size_t i = 0; i < points; ++i) summary->allocation.push_back({times[i], levels[i]});
  summary->allocation_peak_bytes = in.has_allocation_peak_bytes() ? in.allocation_peak_bytes() : -1;
  if (in.has_allocation_peak_bytes()) {
    LOCKSTEP_RETURN_IF_ERROR(CheckRange("allocation_peak_bytes", summary->allocation_peak_bytes, {0, codec::kAnyMax}));
  }
  if (!in.has_allocation_peak_at_ns()) return absl::OkStatus();
  summary->allocation_peak_at_ns = in.allocation_peak_at_ns();
  return CheckRange("allocation_peak_at_ns", summary->allocation_peak_at_ns, kTimeLimits);
}

absl::StatusOr<SourceSummary> GetSummary(const v1::SourceSummary& in) {
  SourceSummary summary;
  LOCKSTEP_ASSIGN_OR_RETURN(summary.drops, FromProto(in.drops()));
  LOCKSTEP_ASSIGN_OR_RETURN(summary.gaps, GetSketch("gaps", in.gap_ns()));
  LOCKSTEP_RETURN_IF_ERROR(GetStreams(in, &summary));
  LOCKSTEP_RETURN_IF_ERROR(GetAllocation(in, &summary));
  LOCKSTEP_RETURN_IF_ERROR(DecodeStepOverlaps(in.step_overlaps(), &summary.step_overlaps));
  return summary;
}

// Decodes every message of a list with `get` and appends the rows.
template <typename Messages, typename Row, typename Get>
absl::Status GetAll(std::string_view what, const Messages& in, Get get, std::vector<Row>* rows) {
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckRows(what, static_cast<uint32_t>(in.size())));
  rows->reserve(static_cast<size_t>(in.size()));
  for (const auto& message : in) {
    LOCKSTEP_ASSIGN_OR_RETURN(Row row, get(message));
    rows->push_back(std::move(row));
  }
  return absl::OkStatus();
}

template <typename Message, typename Row, typename Put>
std::string Serialise(const Row& row, Put put) {
  Message message;
  put(row, &message);
  return message.SerializeAsString();
}

template <typename Message, typename Row, typename Get>
absl::Status ParseRow(std::string_view bytes, Get get, Row* row) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(fmt::format("{} bytes are no {}", bytes.size(), message.GetTypeName()));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(*row, get(message));
  return absl::OkStatus();
}

}  // namespace

void EncodeTables(const Batch& batch, v1::TableBlock* out) {
  for (const KernelRow& row : batch.kernels) PutKernel(row, out->add_kernels());
  for (const MemoryRow& row : batch.memory) PutMemory(row, out->add_memory());
  for (const ApiRow& row : batch.apis) PutApi(row, out->add_apis());
  for (const RangeRow& row : batch.ranges) PutRange(row, out->add_ranges());
  for (const LaunchRow& row : batch.launches) PutLaunch(row, out->add_launches());
  if (batch.summary.has_value()) PutSummary(*batch.summary, out->mutable_summary());
}

absl::Status DecodeTables(const v1::TableBlock& in, Batch* batch) {
  LOCKSTEP_RETURN_IF_ERROR(GetAll("kernels", in.kernels(), GetKernel, &batch->kernels));
  LOCKSTEP_RETURN_IF_ERROR(GetAll("memory", in.memory(), GetMemory, &batch->memory));
  LOCKSTEP_RETURN_IF_ERROR(GetAll("apis", in.apis(), GetApi, &batch->apis));
  LOCKSTEP_RETURN_IF_ERROR(GetAll("ranges", in.ranges(), GetRange, &batch->ranges));
  LOCKSTEP_RETURN_IF_ERROR(GetAll("launches", in.launches(), GetLaunch, &batch->launches));
  if (!in.has_summary()) return absl::OkStatus();
  LOCKSTEP_ASSIGN_OR_RETURN(batch->summary, GetSummary(in.summary()));
  return absl::OkStatus();
}

std::string PackKernels(const std::vector<KernelRow>& kernels) {
  v1::TableBlock block;
  for (const KernelRow& row : kernels) PutKernel(row, block.add_kernels());
  return codec::PackToBytes(block);
}

void PutPlainly(const KernelRow& row, v1::Kernel* out) {
  PutKernelAlone(row, out);
  for (const Exemplar& exemplar : row.longest) {
    v1::Exemplar* entry = out->add_longest();
    entry->set_start_ns(exemplar.start_ns);
    entry->set_duration_ns(exemplar.duration_ns);
    if (exemplar.step != kNoStep) entry->set_step(exemplar.step);
  }
}

absl::StatusOr<std::vector<KernelRow>> UnpackKernels(std::string_view bytes) {
  v1::TableBlock block;
  LOCKSTEP_RETURN_IF_ERROR(codec::UnpackBytes("kernels", bytes, codec::kMaxInstanceBytes, &block));
  std::vector<KernelRow> rows;
  LOCKSTEP_RETURN_IF_ERROR(GetAll("kernels", block.kernels(), GetKernel, &rows));
  return rows;
}

std::string EncodeRow(const MemoryRow& row) { return Serialise<v1::MemoryOperations>(row, PutMemory); }
std::string EncodeRow(const ApiRow& row) { return Serialise<v1::ApiCalls>(row, PutApi); }
std::string EncodeRow(const RangeRow& row) { return Serialise<v1::Ranges>(row, PutRange); }
std::string EncodeRow(const LaunchRow& row) { return Serialise<v1::Launches>(row, PutLaunch); }
std::string EncodeRow(const SourceSummary& summary) { return Serialise<v1::SourceSummary>(summary, PutSummary); }

absl::Status DecodeRow(std::string_view bytes, MemoryRow* row) {
  return ParseRow<v1::MemoryOperations>(bytes, GetMemory, row);
}
absl::Status DecodeRow(std::string_view bytes, ApiRow* row) { return ParseRow<v1::ApiCalls>(bytes, GetApi, row); }
absl::Status DecodeRow(std::string_view bytes, RangeRow* row) { return ParseRow<v1::Ranges>(bytes, GetRange, row); }
absl::Status DecodeRow(std::string_view bytes, LaunchRow* row) { return ParseRow<v1::Launches>(bytes, GetLaunch, row); }
absl::Status DecodeRow(std::string_view bytes, SourceSummary* summary) {
  return ParseRow<v1::SourceSummary>(bytes, GetSummary, summary);
}

}  // namespace lockstep
