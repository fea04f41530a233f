// SEG and COVER columns of the rows of one communicator. Helpers of instance_codec; pure, thread safe.
#pragma once

#include <absl/status/status.h>

#include <span>

#include "analysis/model/batch.h"
#include "lockstep/v1/batch.pb.h"

namespace lockstep::codec {

// Nothing is written when no row has a segment (or cover).
void EncodeSegments(std::span<const InstanceRow* const> rows, v1::InstanceColumns* out);
void EncodeCovers(std::span<const InstanceRow* const> rows, v1::InstanceColumns* out);

// Sum of all parts of the row's segment but compute; 0 without a segment. Modulo 2^64.
[[nodiscard]] int64_t PartsBesidesCompute(const InstanceRow& row);

// First the parts, which need nothing, then what hangs on the rows' start and duration. Errors: kInvalidArgument.
[[nodiscard]] absl::Status DecodeParts(const v1::SegmentColumns& in, std::span<InstanceRow> rows);
[[nodiscard]] absl::Status DecodeSegments(const v1::SegmentColumns& in, std::span<InstanceRow> rows);
[[nodiscard]] absl::Status DecodeCovers(const v1::CoverColumns& in, std::span<InstanceRow> rows);

}  // namespace lockstep::codec
