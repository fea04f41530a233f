#include "cli/run_source.h"

#include <fmt/format.h>

#include <utility>

#include "agent/uplink/grpc/grpc_transport.h"
#include "analysis/base/status_macros.h"
#include "platform/file_system.h"
#include "platform/host.h"

namespace lockstep {

void AddRunSourceFlags(CLI::App& verb, RunSourceFlags& flags) {
  auto* store = verb.add_option("--store", flags.store, "SQLite store that holds the run");
  verb.add_option("--aggregator", flags.aggregator, "HOST:PORT of an aggregator")->excludes(store);
  verb.add_flag("--insecure", flags.insecure, "allow a plaintext connection to another machine");
}

absl::StatusOr<RunSource> RunSource::Open(const RunSourceFlags& flags) {
  RunSource source;
  if (!flags.store.empty()) {
    if (!FileSize(flags.store).ok()) {
      return absl::NotFoundError(
          fmt::format("{}: there is no such store; `lockstep analyze --store` makes one", flags.store));
    }
    LOCKSTEP_ASSIGN_OR_RETURN(source.cluster_, EmbeddedCluster::Open({.store_path = flags.store}));
    return source;
  }
  const auto address = ParseAddress(flags.aggregator);
  if (!address || address->port == 0) {
    return absl::InvalidArgumentError("say where the runs are: --store FILE or --aggregator HOST:PORT");
  }
  if (!IsLoopback(address->host) && !flags.insecure) {
    return absl::InvalidArgumentError(
        fmt::format("{} is another machine, and connections are not encrypted in this release: use a tunnel, or accept "
                    "plaintext with --insecure",
                    flags.aggregator));
  }
  source.client_ = std::make_unique<QueryClient>(ConnectTo(flags.aggregator), flags.aggregator);
  return source;
}

}  // namespace lockstep
