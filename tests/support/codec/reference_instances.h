// Decodes blocks of instances row by row and number by number, as proto/README.md says, with no thought of speed: what
// the decoder of proto/ must agree with on every input. Shares nothing with it but the checks of single numbers.
#pragma once

#include <absl/status/statusor.h>

#include <vector>

#include "analysis/model/instance_row.h"
#include "lockstep/v1/batch.pb.h"
#include "proto/instance_codec.h"

namespace lockstep::reference {

[[nodiscard]] absl::StatusOr<std::vector<InstanceRow>> DecodeInstances(const v1::InstanceBlock& in);

}  // namespace lockstep::reference
