#include "cli/run_source.h"

#include <fmt/format.h>

#include <utility>

#include "agent/uplink/grpc/grpc_transport.h"
#include "analysis/base/status_macros.h"
#include "platform/file_system.h"
#include "platform/heap.h"

namespace lockstep {

void AddRunSourceFlags(CLI::App& verb, RunSourceFlags& flags) {
  constexpr const char* kGroup = "Where the runs are";
  auto* store = verb.add_option("--store", flags.store, "SQLite file that `lockstep analyze --store` made")
                    ->option_text("FILE")
                    ->group(kGroup);
  verb.add_option("--aggregator", flags.aggregator, "address of a running lockstep-aggregator")
      ->excludes(store)
      ->option_text("HOST:PORT")
      ->group(kGroup);
  AddConnectionFlags(verb, flags.connection);
}

absl::StatusOr<RunSource> RunSource::Open(const RunSourceFlags& flags) {
  RunSource source;
  if (!flags.store.empty()) {
    if (!FileSize(flags.store).ok()) {
      return absl::NotFoundError(
          fmt::format("{0}: there is no such store; `lockstep analyze TRACES --store {0}` makes one", flags.store));
    }
    UseMemoryFreely();
    LOCKSTEP_ASSIGN_OR_RETURN(source.cluster_, EmbeddedCluster::Open({.store_path = flags.store}));
    return source;
  }
  if (flags.aggregator.empty()) {
    return absl::InvalidArgumentError("name the place of the runs: --store FILE or --aggregator HOST:PORT");
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
