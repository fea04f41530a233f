// Checks of PEM files before a connection depends on them: TLS itself would only fail every handshake.
#pragma once

#include <absl/status/status.h>

#include <string>

namespace lockstep {

// The files of one side of a TLS connection; "" = not given. kInvalidArgument names the file that holds no certificate
// or no key, or says that the two do not belong together; a file that cannot be read has its own error.
[[nodiscard]] absl::Status CheckPemFiles(const std::string& certificate, const std::string& key,
                                         const std::string& authority);

}  // namespace lockstep
