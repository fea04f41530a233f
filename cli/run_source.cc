#include "cli/run_source.h"

#include <fmt/format.h>

#include <utility>

#include "agent/uplink/grpc/grpc_transport.h"
#include "analysis/base/status_macros.h"
#include "platform/file_system.h"
#include "platform/heap.h"

namespace lockstep {

void AddRunSourceFlags(CLI::App& verb, RunSourceFlags& flags) {
  auto* store = verb.add_option("--store", flags.store, "SQLite store that holds the run");
  verb.add_option("--aggregator", flags.aggregator, "HOST:PORT of an aggregator")->excludes(store);
  AddConnectionFlags(verb, flags.connection);
}

absl::StatusOr<RunSource> RunSource::Open(const RunSourceFlags& flags) {
  RunSource source;
  if (!flags.store.empty()) {
    if (!FileSize(flags.store).ok()) {
      return absl::NotFoundError(
          fmt::format("{}: there is no such store; `lockstep analyze --store` makes one", flags.store));
    }
    KeepFreeMemory();
    LOCKSTEP_ASSIGN_OR_RETURN(source.cluster_, EmbeddedCluster::Open({.store_path = flags.store}));
    return source;
  }
  if (flags.aggregator.empty()) {
    return absl::InvalidArgumentError("say where the runs are: --store FILE or --aggregator HOST:PORT");
  }
  ConnectionFlags connection = flags.connection;
  SettleConnectionFlags(connection);
  if (const auto complaint = ConnectionComplaint(flags.aggregator, connection)) {
    return absl::InvalidArgumentError(*complaint);
  }
  source.client_ = std::make_unique<QueryClient>(ConnectTo(flags.aggregator, connection.security), flags.aggregator,
                                                 connection.token_file);
  return source;
}

}  // namespace lockstep
