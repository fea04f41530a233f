// Steps, buckets and per-step kernel totals as columns (StepBlock). Decoding checks lengths and ranges; errors are
// kInvalidArgument. Pure, thread safe.
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

#include "analysis/model/batch.h"
#include "lockstep/v1/batch.pb.h"

namespace lockstep {

void EncodeSteps(const Batch& batch, v1::StepBlock* out);
[[nodiscard]] absl::Status DecodeSteps(const v1::StepBlock& in, Batch* batch);

// Of the summary: ascending pairs, at most kMaxStepOverlaps. `out` of none stays as it is.
void EncodeStepOverlaps(const std::vector<StepOverlapRow>& rows, v1::StepOverlapColumns* out);
[[nodiscard]] absl::Status DecodeStepOverlaps(const v1::StepOverlapColumns& in, std::vector<StepOverlapRow>* rows);

// Rows of one kind alone, compressed, for stores.
[[nodiscard]] std::string PackBuckets(const std::vector<BucketRow>& buckets);
[[nodiscard]] absl::StatusOr<std::vector<BucketRow>> UnpackBuckets(std::string_view bytes);
[[nodiscard]] std::string PackStepKernels(const std::vector<StepKernelRow>& rows);
[[nodiscard]] absl::StatusOr<std::vector<StepKernelRow>> UnpackStepKernels(std::string_view bytes);

}  // namespace lockstep
