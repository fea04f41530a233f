// Rows with sketches (TableBlock): kernels, memory, API, ranges, launches, and the summary of a source. One pair of
// functions a row type, shared by the wire and the stores. Decoding checks ranges and sketches; errors are
// kInvalidArgument. Pure, thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "analysis/model/batch.h"
#include "lockstep/v1/batch.pb.h"

namespace lockstep {

void EncodeTables(const Batch& batch, v1::TableBlock* out);
[[nodiscard]] absl::Status DecodeTables(const v1::TableBlock& in, Batch* batch);

// For stores: kernel rows, compressed, and single rows as plain serialised messages.
[[nodiscard]] std::string PackKernels(const std::vector<KernelRow>& kernels);
[[nodiscard]] absl::StatusOr<std::vector<KernelRow>> UnpackKernels(std::string_view bytes);
// For people: the longest instances one by one, as batches up to version 3 had them.
void PutPlainly(const KernelRow& row, v1::Kernel* out);
[[nodiscard]] std::string EncodeRow(const MemoryRow& row);
[[nodiscard]] std::string EncodeRow(const ApiRow& row);
[[nodiscard]] std::string EncodeRow(const RangeRow& row);
[[nodiscard]] std::string EncodeRow(const LaunchRow& row);
[[nodiscard]] std::string EncodeRow(const SourceSummary& summary);
[[nodiscard]] absl::Status DecodeRow(std::string_view bytes, MemoryRow* row);
[[nodiscard]] absl::Status DecodeRow(std::string_view bytes, ApiRow* row);
[[nodiscard]] absl::Status DecodeRow(std::string_view bytes, RangeRow* row);
[[nodiscard]] absl::Status DecodeRow(std::string_view bytes, LaunchRow* row);
[[nodiscard]] absl::Status DecodeRow(std::string_view bytes, SourceSummary* summary);

}  // namespace lockstep
