// A protobuf message of the store as indented lines, field by field as the schema names them, so that a field that is
// added later is dumped as well. Delta columns are summed up, sketches decoded. Pure, thread safe.
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace lockstep {

// Appends "<indent><label> field=value ...\n", then a line for each sketch and each message inside, two columns deeper.
// kInvalidArgument when a sketch does not decode.
[[nodiscard]] absl::Status AppendMessage(const google::protobuf::Message& message, std::string_view label, int indent,
                                         std::string* out);

}  // namespace lockstep
