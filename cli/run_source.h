// Where stored runs are asked for: --store FILE or --aggregator HOST:PORT.
#pragma once

#include <absl/status/statusor.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "agent/connection_flags.h"
#include "cli/embedded_cluster.h"
#include "cli/query_client.h"

namespace lockstep {

struct RunSourceFlags {
  std::string store;
  std::string aggregator;
  ConnectionFlags connection;
};

void AddRunSourceFlags(CLI::App& verb, RunSourceFlags& flags);

// An open way to ask. For a store the aggregator runs inside this process.
class RunSource {
 public:
  // kInvalidArgument: wrong flags; kNotFound: no such store; kUnavailable and others: cannot be opened.
  static absl::StatusOr<RunSource> Open(const RunSourceFlags& flags);
  // Null where an aggregator is asked.
  [[nodiscard]] JobStore* store() const { return cluster_ ? &cluster_->store() : nullptr; }
  [[nodiscard]] const QueryClient& query() const { return cluster_ ? cluster_->query() : *client_; }

 private:
  std::unique_ptr<EmbeddedCluster> cluster_;
  std::unique_ptr<QueryClient> client_;
};

}  // namespace lockstep
