// Writes the SEG and COVER columns of the rows of one communicator; instance_group.h reads them. Helpers of
// instance_codec; pure, thread safe.
#pragma once

#include <span>

#include "analysis/model/instance_row.h"
#include "lockstep/v1/batch.pb.h"

namespace lockstep::codec {

// Nothing is written when no row has a segment (or cover).
void EncodeSegments(std::span<const InstanceRow* const> rows, v1::InstanceColumns* out);
void EncodeCovers(std::span<const InstanceRow* const> rows, v1::InstanceColumns* out);

// Sum of all parts of the row's segment but compute; 0 without a segment. Modulo 2^64.
[[nodiscard]] int64_t PartsBesidesCompute(const InstanceRow& row);

}  // namespace lockstep::codec
