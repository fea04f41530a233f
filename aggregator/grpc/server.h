// The aggregator's server: both services over one store, on a port or only inside this process.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "aggregator/ingest/ingest_session.h"
#include "aggregator/store/job_store.h"
#include "analysis/metrics/run/analysis_options.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace lockstep {

// PEM files of a listening port. All "": plaintext.
struct ServerTls {
  std::string certificate;  // the server's, with what leads to its root
  std::string key;
  std::string client_ca;   // "" = clients need no certificate; else one that this authority signed
  uint32_t refresh_s = 5;  // how often the files are looked at
};

struct AggregatorServerOptions {
  std::string listen;  // HOST:PORT, port 0 = the system chooses; "" = in-process only
  ServerTls tls;
  std::string tokens;  // path of the token file; "" = everybody may do everything
  IngestLimits limits;
  IngestMetrics* metrics = nullptr;  // outlives the server; may be null
  size_t analysis_threads = 0;       // 0 = as many as the machine has
  bool answers_ahead = false;        // analyses runs once they are complete, before anybody asks
  int64_t grace_ns = 2'000'000'000;  // for streams still open at Shutdown
};

// Owns its threads. Thread safe.
class AggregatorServer {
 public:
  // The store must outlive the server. kUnavailable when the address cannot be listened on; what ReadSecretFile and
  // TokenTable say of the token file; what CheckPemFiles says of the TLS files. Answers grpc.health.v1 on the port.
  static absl::StatusOr<std::unique_ptr<AggregatorServer>> Start(JobStore& store,
                                                                 const AggregatorServerOptions& options);
  virtual ~AggregatorServer() = default;  // shuts down
  // Where it listens; "" for in-process only.
  [[nodiscard]] virtual const std::string& address() const = 0;
  // A channel that never leaves this process; must not be used after Shutdown.
  [[nodiscard]] virtual std::shared_ptr<grpc::Channel> InProcessChannel() = 0;
  // Takes no new calls (kUnavailable with a hint when to try again), lets running ones go on for the grace, then
  // cancels them. Acknowledged batches are in the store.
  virtual void Shutdown() = 0;
  // What a question of the Query service is answered with (query/run_query.h), for askers inside this process. After
  // Shutdown kUnavailable.
  [[nodiscard]] virtual absl::StatusOr<std::string> Answer(const std::string& run, const AnalysisOptions& options) = 0;
  // What the streams of agents take at this moment.
  [[nodiscard]] virtual Admission::Load load() const = 0;
};

}  // namespace lockstep
