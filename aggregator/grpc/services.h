// The two services of lockstep.v1, as thin skins: messages to values, a call of the session or the query, values to
// messages. No logic lives here. Ingest has no thread a stream, Query one a call.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <functional>
#include <memory>
#include <string>

#include "aggregator/grpc/call_guard.h"
#include "aggregator/ingest/answering_threads.h"
#include "aggregator/ingest/ingest_session.h"
#include "aggregator/ingest/run_opener.h"
#include "aggregator/store/job_store.h"
#include "analysis/metrics/run/analysis_options.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace lockstep {

// What the Query service works on.
struct QueryEnvironment {
  JobStore& store;
  RunOpener& opener;
  // The report document about a run.
  std::function<absl::StatusOr<std::string>(const std::string& run, const AnalysisOptions& asked)> answer;
  // Called when somebody has said that a run is complete.
  std::function<absl::Status(const std::string& run)> on_finished;
};

// Everything given must outlive the services; the environment has an admission. The guard is asked before each answer.
[[nodiscard]] std::unique_ptr<grpc::Service> MakeIngestService(const IngestEnvironment& environment, CallGuard& guard,
                                                               AnsweringThreads& answering);
[[nodiscard]] std::unique_ptr<grpc::Service> MakeQueryService(const QueryEnvironment& environment, CallGuard& guard);

}  // namespace lockstep
