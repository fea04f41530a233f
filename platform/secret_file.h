// Files that hold secrets. Error texts name the file and never its content.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>

namespace lockstep {

// The text of a small file that not everybody may read: kPermissionDenied, with the way out, when other users of this
// machine can; kInvalidArgument beyond `limit_bytes` or when it is no regular file.
[[nodiscard]] absl::StatusOr<std::string> ReadSecretFile(const std::string& path, int64_t limit_bytes);

// The token of a client: the file's one line, without spaces around it. kInvalidArgument when there is none, or when it
// has characters that no token has.
[[nodiscard]] absl::StatusOr<std::string> ReadTokenFile(const std::string& path);

// Changes whenever the file does (replaced, written, other permissions, gone); 0 = not there. Cheap enough for each
// call.
[[nodiscard]] uint64_t FileVersion(const std::string& path);

}  // namespace lockstep
