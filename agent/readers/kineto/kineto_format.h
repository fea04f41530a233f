// The Kineto / torch.profiler Chrome trace format: see README.md in this folder.
#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "agent/readers/trace_reader.h"
#include "platform/byte_source.h"

namespace lockstep {

[[nodiscard]] const TraceFormat& KinetoFormat();

// Reads a trace from any source of bytes; `label` names it in messages. As TraceReader::Read otherwise.
absl::StatusOr<ReadResult> ReadKineto(ByteSource& source, const std::string& label, const ReadOptions& options,
                                      RecordSink& sink);

}  // namespace lockstep
