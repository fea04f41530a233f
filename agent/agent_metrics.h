// Where the figures of an agent are told. Names: docs/operations.md.
#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <string>

#include "agent/spool/spool_depth.h"
#include "agent/uplink/measured_transport.h"
#include "platform/http/metrics_server.h"
#include "platform/metrics_registry.h"

namespace lockstep {

// Adds what the process and the spool folder ("" = none) take and how deep it is, and serves the registry on HOST:PORT,
// which is printed on stdout; "" = nowhere: then null. Ready: the aggregator has welcomed the agent. All references
// outlive the result.
absl::StatusOr<std::unique_ptr<MetricsServer>> ServeMetrics(const std::string& listen, const std::string& spool,
                                                            const SpoolDepth& depth, MetricsRegistry& registry,
                                                            const UplinkMetrics& uplink);

}  // namespace lockstep
