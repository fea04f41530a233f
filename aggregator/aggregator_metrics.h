// The figures of the aggregator as a whole, and where they are told. Names: docs/operations.md.
#pragma once

#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>

#include "aggregator/grpc/server.h"
#include "platform/http/metrics_server.h"
#include "platform/metrics_registry.h"

namespace lockstep {

// Adds what the process and the streams of the server take, and serves the registry on HOST:PORT, which is printed; ""
// = nowhere: then null. `ready`: see MetricsServer. The registry and the server must outlive the result.
absl::StatusOr<std::unique_ptr<MetricsServer>> ServeMetrics(const std::string& listen, MetricsRegistry& registry,
                                                            const AggregatorServer& server,
                                                            std::function<std::string()> ready);

}  // namespace lockstep
