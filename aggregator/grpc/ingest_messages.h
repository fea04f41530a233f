// What travels on an agent's stream, to values and back. Pure.
#pragma once

#include <absl/status/statusor.h>

#include "aggregator/ingest/messages.h"
#include "lockstep/v1/ingest.pb.h"

namespace lockstep {

// The values may refer to the request. kInvalidArgument: no message that this release knows.
[[nodiscard]] absl::StatusOr<IngestMessage> MessageOf(const v1::IngestRequest& request);
// False: there is nothing to send.
[[nodiscard]] bool Fill(const IngestReply& reply, v1::IngestResponse& response);

}  // namespace lockstep
