// What a process does before a TLS connection depends on it: bad PEM files would only fail every handshake.
#pragma once

#include <absl/status/status.h>

#include <string>

namespace lockstep {

// To be called before the process makes its first TLS connection, of either side; again does nothing. Without it
// OpenSSL takes itself apart when the process exits, while threads of gRPC may still be using it. Thread safe.
void KeepOpenSslUntilTheEnd();

// The files of one side of a TLS connection; "" = not given. kInvalidArgument names the file that holds no certificate
// or no key, or says that the two do not belong together; a file that cannot be read has its own error.
[[nodiscard]] absl::Status CheckPemFiles(const std::string& certificate, const std::string& key,
                                         const std::string& authority);

}  // namespace lockstep
