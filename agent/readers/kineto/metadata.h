// The keys around traceEvents, into the FileContext. Pure but for the context it fills; one thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/readers/kineto/json_scanner.h"
#include "analysis/model/source.h"

namespace lockstep::kineto {

// Whether ApplyMetadata wants the value of this key; others need not be kept in memory.
[[nodiscard]] bool IsMetadataKey(std::string_view key);
// Whether only Kineto writes this key: tells a Kineto file from other JSON.
[[nodiscard]] bool IsKinetoKey(std::string_view key);

// Applies one key. Of duplicates the last counts. `process`: the index of the file's process. What cannot be understood
// becomes a line of context.diagnostics.
void ApplyMetadata(std::string_view key, const JsonToken& value, uint32_t process, FileContext& context);

}  // namespace lockstep::kineto
