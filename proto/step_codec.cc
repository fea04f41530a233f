#include "proto/step_codec.h"

#include <algorithm>

#include "analysis/base/utf8.h"
#include "analysis/model/batch.h"
#include "analysis/model/row_values.h"
#include "proto/column_codec.h"
#include "proto/column_reader.h"

namespace lockstep {
namespace {

using codec::Column;
using codec::kAmountLimits;
using codec::kNameLimits;
using codec::kTimeLimits;
using codec::Limits;
using codec::Sparse;

// Corrections of a step selection may be negative.
constexpr Limits kSigned = kTimeLimits;

#define LOCKSTEP_MEASURE(wire) LOCKSTEP_COLUMN(IntervalMeasure, v1::MeasureColumns, wire, wire, 0, {kSigned})
constexpr Column<IntervalMeasure, v1::MeasureColumns> kMeasure[] = {
    LOCKSTEP_MEASURE(span_ns),
    LOCKSTEP_MEASURE(compute_ns),
    LOCKSTEP_MEASURE(comm_ns),
    LOCKSTEP_MEASURE(copy_ns),
    LOCKSTEP_MEASURE(opaque_ns),
    LOCKSTEP_MEASURE(overlap_ns),
    LOCKSTEP_MEASURE(strict_exposed_comm_ns),
    LOCKSTEP_MEASURE(copy_only_ns),
    LOCKSTEP_MEASURE(opaque_only_ns),
    LOCKSTEP_MEASURE(idle_host_ns),
    LOCKSTEP_MEASURE(idle_launch_ns),
    LOCKSTEP_MEASURE(idle_dependency_ns),
    LOCKSTEP_MEASURE(idle_other_ns),
};

#define LOCKSTEP_STEP(wire, ...) LOCKSTEP_COLUMN(StepRow, v1::StepColumns, wire, wire, 0, __VA_ARGS__)
constexpr Column<StepRow, v1::StepColumns> kStepColumns[] = {
    LOCKSTEP_STEP(window_start_ns, {kTimeLimits}),     LOCKSTEP_STEP(window_end_ns, {kTimeLimits}),
    LOCKSTEP_STEP(launches, {kAmountLimits}),          LOCKSTEP_STEP(kernels, {kAmountLimits}),
    LOCKSTEP_STEP(collectives, {kAmountLimits}),       LOCKSTEP_STEP(collective_time_ns, {kAmountLimits}),
    LOCKSTEP_STEP(collective_max_ns, {kAmountLimits}), LOCKSTEP_STEP(kernel_time_ns, {kAmountLimits}),
    LOCKSTEP_STEP(longest_gap_ns, {kAmountLimits}),    LOCKSTEP_STEP(launch_ns, {kAmountLimits}),
    LOCKSTEP_STEP(graph_launches, {kAmountLimits}),    LOCKSTEP_STEP(sync_calls, {kAmountLimits}),
    LOCKSTEP_STEP(sync_ns, {kAmountLimits}),           LOCKSTEP_STEP(alloc_calls, {kAmountLimits}),
    LOCKSTEP_STEP(alloc_ns, {kAmountLimits}),          LOCKSTEP_STEP(alloc_max_ns, {kAmountLimits}),
    LOCKSTEP_STEP(host_copies, {kAmountLimits}),       LOCKSTEP_STEP(host_copy_ns, {kAmountLimits}),
    LOCKSTEP_STEP(host_copy_bytes, {kAmountLimits}),   LOCKSTEP_STEP(forward_ns, {kAmountLimits}),
    LOCKSTEP_STEP(backward_ns, {kAmountLimits}),       LOCKSTEP_STEP(optimizer_ns, {kAmountLimits}),
};

constexpr Column<BucketRow, v1::BucketColumns> kBucketColumns[] = {
    LOCKSTEP_COLUMN(BucketRow, v1::BucketColumns, index, index, 0, {kTimeLimits}),
};

#define LOCKSTEP_STEP_OVERLAP(wire) \
  LOCKSTEP_COLUMN(StepOverlapRow, v1::StepOverlapColumns, wire, wire, 0, {kNoStep + 1, codec::kAnyMax})
constexpr Column<StepOverlapRow, v1::StepOverlapColumns> kStepOverlapColumns[] = {
    LOCKSTEP_STEP_OVERLAP(lower),
    LOCKSTEP_STEP_OVERLAP(upper),
};

#define LOCKSTEP_STEP_KERNEL(wire, ...) \
  LOCKSTEP_COLUMN(StepKernelRow, v1::StepKernelColumns, wire, wire, 0, __VA_ARGS__)
constexpr Column<StepKernelRow, v1::StepKernelColumns> kStepKernelColumns[] = {
    LOCKSTEP_STEP_KERNEL(name, {kNameLimits}),
    LOCKSTEP_STEP_KERNEL(instances, {kAmountLimits}),
    LOCKSTEP_STEP_KERNEL(total_ns, {kAmountLimits}),
};

// Optional columns of a row type, with the value that stands for "none" in the model.
template <typename Row, typename Columns>
struct SparseSpec {
  std::string_view name;
  int64_t (*get)(const Row&);
  void (*set)(Row&, int64_t);
  v1::SparseColumn* (Columns::*mutable_column)();
  const v1::SparseColumn& (Columns::*column)() const;
  int64_t none;
  Limits limits;
};
#define LOCKSTEP_SPARSE(Row, Columns, wire, none, ...)                                        \
  SparseSpec<Row, Columns> {                                                                  \
#wire, [](const Row& row) { return static_cast<int64_t>(row.wire); },                       \
        [](Row& row, int64_t value) { row.wire = static_cast<decltype(row.wire)>(value); },     \
        &Columns::mutable_##wire, &Columns::wire, none, Limits __VA_ARGS__ \
  }
constexpr SparseSpec<StepRow, v1::StepColumns> kSparseSteps[] = {
    LOCKSTEP_SPARSE(StepRow, v1::StepColumns, step, kNoStep, {kNoStep + 1, codec::kAnyMax}),
    LOCKSTEP_SPARSE(StepRow, v1::StepColumns, name, kNoId, {kNameLimits}),
    LOCKSTEP_SPARSE(StepRow, v1::StepColumns, host_start_ns, kNoTime, {kTimeLimits}),
    LOCKSTEP_SPARSE(StepRow, v1::StepColumns, host_end_ns, kNoTime, {kTimeLimits}),
    LOCKSTEP_SPARSE(StepRow, v1::StepColumns, first_start_ns, kNoTime, {kTimeLimits}),
    LOCKSTEP_SPARSE(StepRow, v1::StepColumns, last_end_ns, kNoTime, {kTimeLimits}),
};
constexpr SparseSpec<StepKernelRow, v1::StepKernelColumns> kSparseStepKernels[] = {
    LOCKSTEP_SPARSE(StepKernelRow, v1::StepKernelColumns, step, kNoStep, {kNoStep + 1, codec::kAnyMax}),
};

template <typename Row, typename Columns>
void PutSparseColumns(std::span<const SparseSpec<Row, Columns>> specs, const std::vector<Row>& rows, Columns* out) {
  for (const auto& spec : specs) {
    Sparse values(rows.size());
    bool any = false;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t value = spec.get(rows[i]);
      if (value == spec.none) continue;
      values[i] = value;
      any = true;
    }
    if (any) codec::PutSparse(values, (out->*spec.mutable_column)());
  }
}

template <typename Row, typename Columns>
absl::Status GetSparseColumns(std::span<const SparseSpec<Row, Columns>> specs, const Columns& in,
                              std::vector<Row>* rows) {
  for (const auto& spec : specs) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Sparse values,
                              codec::GetSparse(spec.name, (in.*spec.column)(), rows->size(), spec.limits));
    for (size_t i = 0; i < rows->size(); ++i) spec.set((*rows)[i], values[i].value_or(spec.none));
  }
  return absl::OkStatus();
}

template <typename Row>
void PutMeasures(const std::vector<Row>& rows, IntervalMeasure Row::*member, v1::MeasureColumns* out) {
  std::vector<const IntervalMeasure*> measures;
  for (const Row& row : rows) measures.push_back(&(row.*member));
  codec::EncodeColumns<IntervalMeasure, v1::MeasureColumns>(kMeasure, measures, out);
}

template <typename Row>
absl::Status GetMeasures(const v1::MeasureColumns& in, IntervalMeasure Row::*member, std::vector<Row>* rows) {
  std::vector<IntervalMeasure> measures(rows->size());
  LOCKSTEP_RETURN_IF_ERROR(
      (codec::DecodeColumns<IntervalMeasure, v1::MeasureColumns>(kMeasure, in, std::span(measures))));
  for (size_t i = 0; i < rows->size(); ++i) (*rows)[i].*member = measures[i];
  return absl::OkStatus();
}

void PutPhases(const std::vector<StepRow>& rows, v1::StepColumns* out) {
  std::vector<std::string> phases;
  std::vector<int64_t> indices;
  for (const StepRow& row : rows) {
    if (row.phase.empty()) {
      indices.push_back(0);
      continue;
    }
    const auto found = std::find(phases.begin(), phases.end(), row.phase);
    indices.push_back(found - phases.begin() + 1);
    if (found == phases.end()) phases.push_back(row.phase);
  }
  for (const std::string& phase : phases) out->add_phases(RepairUtf8(phase));
  codec::PutColumn(indices, 0, out->mutable_phase());
}

absl::Status GetPhases(const v1::StepColumns& in, std::vector<StepRow>* rows) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto indices,
                            codec::GetColumn("phase", in.phase(), rows->size(), 0, {0, in.phases_size()}));
  for (size_t i = 0; i < rows->size(); ++i) {
    if (indices[i] > 0) (*rows)[i].phase = in.phases(static_cast<int>(indices[i] - 1));
  }
  return absl::OkStatus();
}

void PutSteps(const std::vector<StepRow>& rows, v1::StepColumns* out) {
  out->set_rows(static_cast<uint32_t>(rows.size()));
  codec::EncodeColumns<StepRow, v1::StepColumns>(kStepColumns, codec::PointersTo(rows), out);
  PutSparseColumns<StepRow, v1::StepColumns>(kSparseSteps, rows, out);
  PutMeasures(rows, &StepRow::tile, out->mutable_tile());
  PutMeasures(rows, &StepRow::before, out->mutable_before());
  PutMeasures(rows, &StepRow::after, out->mutable_after());
  PutMeasures(rows, &StepRow::foreign, out->mutable_foreign());
  PutPhases(rows, out);
}

absl::Status GetSteps(const v1::StepColumns& in, std::vector<StepRow>* rows) {
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckRows("steps", in.rows()));
  rows->resize(in.rows());
  LOCKSTEP_RETURN_IF_ERROR((codec::DecodeColumns<StepRow, v1::StepColumns>(kStepColumns, in, std::span(*rows))));
  LOCKSTEP_RETURN_IF_ERROR((GetSparseColumns<StepRow, v1::StepColumns>(kSparseSteps, in, rows)));
  LOCKSTEP_RETURN_IF_ERROR(GetMeasures(in.tile(), &StepRow::tile, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetMeasures(in.before(), &StepRow::before, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetMeasures(in.after(), &StepRow::after, rows));
  LOCKSTEP_RETURN_IF_ERROR(GetMeasures(in.foreign(), &StepRow::foreign, rows));
  return GetPhases(in, rows);
}

void PutBuckets(const std::vector<BucketRow>& rows, v1::BucketColumns* out) {
  out->set_rows(static_cast<uint32_t>(rows.size()));
  codec::EncodeColumns<BucketRow, v1::BucketColumns>(kBucketColumns, codec::PointersTo(rows), out);
  PutMeasures(rows, &BucketRow::measure, out->mutable_measure());
}

absl::Status GetBuckets(const v1::BucketColumns& in, std::vector<BucketRow>* rows) {
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckRows("buckets", in.rows()));
  rows->resize(in.rows());
  LOCKSTEP_RETURN_IF_ERROR((codec::DecodeColumns<BucketRow, v1::BucketColumns>(kBucketColumns, in, std::span(*rows))));
  return GetMeasures(in.measure(), &BucketRow::measure, rows);
}

void PutStepKernels(const std::vector<StepKernelRow>& rows, v1::StepKernelColumns* out) {
  out->set_rows(static_cast<uint32_t>(rows.size()));
  codec::EncodeColumns<StepKernelRow, v1::StepKernelColumns>(kStepKernelColumns, codec::PointersTo(rows), out);
  PutSparseColumns<StepKernelRow, v1::StepKernelColumns>(kSparseStepKernels, rows, out);
}

absl::Status GetStepKernels(const v1::StepKernelColumns& in, std::vector<StepKernelRow>* rows) {
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckRows("step_kernels", in.rows()));
  rows->resize(in.rows());
  LOCKSTEP_RETURN_IF_ERROR(
      (codec::DecodeColumns<StepKernelRow, v1::StepKernelColumns>(kStepKernelColumns, in, std::span(*rows))));
  return GetSparseColumns<StepKernelRow, v1::StepKernelColumns>(kSparseStepKernels, in, rows);
}

}  // namespace

void EncodeSteps(const Batch& batch, v1::StepBlock* out) {
  if (!batch.steps.empty()) PutSteps(batch.steps, out->mutable_steps());
  if (!batch.buckets.empty()) PutBuckets(batch.buckets, out->mutable_buckets());
  if (!batch.step_kernels.empty()) PutStepKernels(batch.step_kernels, out->mutable_step_kernels());
}

absl::Status DecodeSteps(const v1::StepBlock& in, Batch* batch) {
  LOCKSTEP_RETURN_IF_ERROR(GetSteps(in.steps(), &batch->steps));
  LOCKSTEP_RETURN_IF_ERROR(GetBuckets(in.buckets(), &batch->buckets));
  return GetStepKernels(in.step_kernels(), &batch->step_kernels);
}

void EncodeStepOverlaps(const std::vector<StepOverlapRow>& rows, v1::StepOverlapColumns* out) {
  out->set_rows(static_cast<uint32_t>(rows.size()));
  codec::EncodeColumns<StepOverlapRow, v1::StepOverlapColumns>(kStepOverlapColumns, codec::PointersTo(rows), out);
  PutMeasures(rows, &StepOverlapRow::measure, out->mutable_measure());
}

absl::Status DecodeStepOverlaps(const v1::StepOverlapColumns& in, std::vector<StepOverlapRow>* rows) {
  LOCKSTEP_RETURN_IF_ERROR(codec::CheckRange("step_overlaps", in.rows(), {0, kMaxStepOverlaps}));
  rows->resize(in.rows());
  LOCKSTEP_RETURN_IF_ERROR(
      (codec::DecodeColumns<StepOverlapRow, v1::StepOverlapColumns>(kStepOverlapColumns, in, std::span(*rows))));
  LOCKSTEP_RETURN_IF_ERROR(GetMeasures(in.measure(), &StepOverlapRow::measure, rows));
  for (size_t i = 0; i < rows->size(); ++i) {
    const StepOverlapRow& row = (*rows)[i];
    const bool ascends =
        i == 0 || std::pair((*rows)[i - 1].lower, (*rows)[i - 1].upper) < std::pair(row.lower, row.upper);
    if (row.lower <= row.upper && ascends) continue;
    return absl::InvalidArgumentError(
        fmt::format("step_overlaps: steps {}, {} in row {} are out of order", row.lower, row.upper, i));
  }
  return absl::OkStatus();
}

std::string PackBuckets(const std::vector<BucketRow>& buckets) {
  v1::BucketColumns columns;
  PutBuckets(buckets, &columns);
  return codec::PackToBytes(columns);
}

absl::StatusOr<std::vector<BucketRow>> UnpackBuckets(std::string_view bytes) {
  v1::BucketColumns columns;
  LOCKSTEP_RETURN_IF_ERROR(codec::UnpackBytes("buckets", bytes, codec::kMaxTableBytes, &columns));
  std::vector<BucketRow> buckets;
  LOCKSTEP_RETURN_IF_ERROR(GetBuckets(columns, &buckets));
  return buckets;
}

std::string PackStepKernels(const std::vector<StepKernelRow>& rows) {
  v1::StepKernelColumns columns;
  PutStepKernels(rows, &columns);
  return codec::PackToBytes(columns);
}

absl::StatusOr<std::vector<StepKernelRow>> UnpackStepKernels(std::string_view bytes) {
  v1::StepKernelColumns columns;
  LOCKSTEP_RETURN_IF_ERROR(codec::UnpackBytes("step_kernels", bytes, codec::kMaxTableBytes, &columns));
  std::vector<StepKernelRow> rows;
  LOCKSTEP_RETURN_IF_ERROR(GetStepKernels(columns, &rows));
  return rows;
}

}  // namespace lockstep
