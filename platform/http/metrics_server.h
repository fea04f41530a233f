// A small HTTP server for the eyes of an operator: GET /metrics, /healthz, /readyz. Nothing that it tells names a run,
// a path or a secret, and nothing can be changed through it. The only place that knows cpp-httplib.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>

#include "platform/metrics_registry.h"

namespace lockstep {

// Owns its threads. Thread safe.
class MetricsServer {
 public:
  // Listens on HOST:PORT (port 0: the system chooses). `ready` says why the daemon cannot do its work now, "" = it can;
  // called from any thread. Both must outlive the server. kInvalidArgument for another form of address, kUnavailable
  // when it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& listen,
                                                              const MetricsRegistry& registry,
                                                              std::function<std::string()> ready);
  virtual ~MetricsServer() = default;  // stops
  // Where it listens.
  [[nodiscard]] virtual const std::string& address() const = 0;
};

// What is wrong with this address for a server of figures, "" = nothing: another form than HOST:PORT, or one that other
// machines can reach without `insecure`.
[[nodiscard]] std::string MetricsAddressComplaint(const std::string& listen, bool insecure);

}  // namespace lockstep
