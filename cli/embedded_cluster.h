// The whole cluster in this process: the agent's pipeline, an in-process channel, the aggregator with its store. What
// `lockstep analyze` and `lockstep show --store` run on; there is no second, offline code path.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/condense_and_send.h"
#include "agent/uplink/uplink_client.h"
#include "aggregator/grpc/server.h"
#include "aggregator/store/job_store.h"
#include "cli/query_client.h"

namespace lockstep {

struct EmbeddedClusterOptions {
  std::string store_path;  // "" = kept in memory
  size_t threads = 0;      // of the analysis; 0 = as many as the machine has
};

struct EmbeddedIngest {
  std::string run;
  InputFiles inputs;
  CondenseAndSendOptions send;
  int32_t expected_ranks = -1;
  bool replace = false;
};

struct IngestOutcome {
  std::vector<FileReport> files;    // in the order of the inputs, problems last
  bool is_new = false;              // the store had no run of this name before
  size_t held = 0;                  // of them the store had already, unchanged: not read again
  std::vector<std::string> differ;  // read, but the run keeps something else of them, complete before
  std::vector<RefusedUplinkSource> refused;
};

class EmbeddedCluster {
 public:
  // Errors: those of the store (damaged, newer, no permission, ...).
  static absl::StatusOr<std::unique_ptr<EmbeddedCluster>> Open(const EmbeddedClusterOptions& options);

  // Condenses the files into the run, but those that it holds, and waits until the store has them. Errors: kCancelled
  // after a stop, and those of the store (kResourceExhausted: no room for it). After an error, and where no file is
  // usable, a store that had no run of this name still has none; nothing more can be asked then.
  absl::StatusOr<IngestOutcome> Ingest(const EmbeddedIngest& what, const std::stop_token& stop);
  // Ends the server: nothing more can be asked.
  void DropRun(const std::string& run);
  [[nodiscard]] JobStore& store() const { return *store_; }
  // Lives as long as the cluster.
  [[nodiscard]] const QueryClient& query() const { return *query_; }

 private:
  absl::StatusOr<IngestOutcome> TryIngest(const EmbeddedIngest& what, const std::stop_token& stop);
  EmbeddedCluster(std::unique_ptr<JobStore> store, std::unique_ptr<AggregatorServer> server, const std::string& path);

  bool lasts_;  // the store is a file
  // Destroyed from the last to the first: asker, server, store.
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<AggregatorServer> server_;
  std::unique_ptr<QueryClient> query_;
};

}  // namespace lockstep
