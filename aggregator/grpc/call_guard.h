// What stands between the port and the services: TLS, tokens, and the refusal of calls while the server goes down.
//
// A call without a right token is ended as soon as its headers are there, before a byte of its messages is read; the
// services ask again about the run, once they know it. Thread safe.
#pragma once

#include <absl/status/status.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/access/access_control.h"
#include "aggregator/grpc/server.h"
#include "aggregator/ingest/drain_gate.h"

namespace grpc {
class ServerContextBase;
class ServerCredentials;
class Status;
}  // namespace grpc

namespace lockstep {

class CallGuard {
 public:
  // Null access: everybody may do everything.
  explicit CallGuard(std::shared_ptr<AccessControl> access) : access_(std::move(access)) {}

  // Whether the caller may do this; null run: on some run.
  absl::Status Allow(const grpc::ServerContextBase& context, Action action, std::optional<std::string_view> run) const;
  [[nodiscard]] DrainGate& gate() { return gate_; }

  // kUnavailable, with a hint when to try again.
  static grpc::Status GoingDown(grpc::ServerContextBase& context);
  // The status as it travels; one that another try may mend (kResourceExhausted, kUnavailable) gets such a hint.
  static grpc::Status WithRetryHint(grpc::ServerContextBase& context, const absl::Status& status);

 private:
  const std::shared_ptr<AccessControl> access_;
  DrainGate gate_;
};

// For a listening port: TLS when there is a certificate, else plaintext; with tokens when there is an access control.
// Certificates are read again when their files change.
[[nodiscard]] std::shared_ptr<grpc::ServerCredentials> ServerCredentialsFor(const ServerTls& tls,
                                                                            std::shared_ptr<AccessControl> access);

// The status as it travels: its text bounded, because a trailer is.
[[nodiscard]] grpc::Status ToGrpc(const absl::Status& status);

}  // namespace lockstep
