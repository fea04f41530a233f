#include "cli/embedded_cluster.h"

#include <utility>

#include "agent/uplink/grpc/grpc_transport.h"
#include "analysis/base/status_macros.h"
#include "platform/heap.h"
#include "platform/host.h"

namespace lockstep {

EmbeddedCluster::EmbeddedCluster(std::unique_ptr<JobStore> store, std::unique_ptr<AggregatorServer> server,
                                 const std::string& name)
    : store_(std::move(store)),
      server_(std::move(server)),
      query_(std::make_unique<QueryClient>(server_->InProcessChannel(), name)) {}

absl::StatusOr<std::unique_ptr<EmbeddedCluster>> EmbeddedCluster::Open(const EmbeddedClusterOptions& options) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<JobStore> store, OpenStore("sqlite", {.path = options.store_path}));
  AggregatorServerOptions server_options;
  server_options.analysis_threads = options.threads;
  server_options.grace_ns = 0;  // its only callers are in this process and have their answers
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<AggregatorServer> server, AggregatorServer::Start(*store, server_options));
  const std::string name = options.store_path.empty() ? "of this process" : options.store_path;
  return std::unique_ptr<EmbeddedCluster>(new EmbeddedCluster(std::move(store), std::move(server), name));
}

absl::StatusOr<IngestOutcome> EmbeddedCluster::Ingest(const EmbeddedIngest& what, const std::stop_token& stop) {
  UplinkClientOptions options;
  options.session.hello = {.run = what.run,
                           .agent = HostName(),
                           .agent_version = LOCKSTEP_VERSION,
                           .expected_ranks = what.expected_ranks,
                           .replace = what.replace};
  options.give_up_after_ns = 0;  // a failure inside one process does not heal
  UplinkClient uplink(MakeGrpcTransport(server_->InProcessChannel()), std::move(options), stop);
  IngestOutcome outcome;
  LOCKSTEP_ASSIGN_OR_RETURN(outcome.files, CondenseAndSend(what.inputs, what.send, uplink, stop));
  LOCKSTEP_ASSIGN_OR_RETURN(UplinkSummary summary, uplink.Drain(/*finish_run=*/false));
  outcome.refused = std::move(summary.refused);
  ReturnFreeMemory();  // the report is made by other threads, in arenas of their own
  KeepFreeMemory();
  return outcome;
}

}  // namespace lockstep
