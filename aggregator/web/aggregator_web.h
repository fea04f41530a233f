// The live pages of an aggregator: its store and its answers behind the API of web/, its tokens in front of it.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>
#include <vector>

#include "aggregator/grpc/server.h"
#include "aggregator/store/job_store.h"
#include "platform/metrics_registry.h"
#include "web/api/web_access.h"
#include "web/api/web_service.h"

namespace lockstep {

struct AggregatorWebOptions {
  std::string listen;
  ServerTls tls;
  std::string tokens;  // path of the token file; "" = everybody may read everything
  std::vector<std::string> names;
};

// Owns its threads. Thread safe.
class AggregatorWeb {
 public:
  virtual ~AggregatorWeb() = default;  // stops
  // Both must outlive it. Errors: those of WebService::Start, and of the token file.
  static absl::StatusOr<std::unique_ptr<AggregatorWeb>> Start(JobStore& store, AggregatorServer& server,
                                                              const AggregatorWebOptions& options);
  [[nodiscard]] virtual const std::string& url() const = 0;
  [[nodiscard]] virtual HttpServer::Load load() const = 0;
};

// Figures of the pages. `web` must outlive the registry's last text.
void AddWebMetrics(MetricsRegistry& registry, const AggregatorWeb& web);

// A token file as what the pages ask. Errors: those of AccessControl::Open.
[[nodiscard]] absl::StatusOr<std::unique_ptr<WebAccess>> OpenWebAccess(const std::string& tokens);

}  // namespace lockstep
