// The two services of lockstep.v1, as thin skins: messages to values, a call of the session or the query, values to
// messages. No logic lives here. Ingest has no thread a stream, Query one a call.
#pragma once

#include <memory>

#include "aggregator/grpc/call_guard.h"
#include "aggregator/ingest/answering_threads.h"
#include "aggregator/ingest/ingest_session.h"
#include "aggregator/ingest/run_opener.h"
#include "aggregator/query/open_runs.h"
#include "aggregator/store/job_store.h"
#include "analysis/base/executor.h"
#include "analysis/model/run_data.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace lockstep {

// Everything given must outlive the services; the environment has an admission. The guard is asked before each answer.
[[nodiscard]] std::unique_ptr<grpc::Service> MakeIngestService(const IngestEnvironment& environment, CallGuard& guard,
                                                               AnsweringThreads& answering);
[[nodiscard]] std::unique_ptr<grpc::Service> MakeQueryService(JobStore& store, RunOpener& opener, Executor& executor,
                                                              OpenRuns& open_runs, CallGuard& guard);

}  // namespace lockstep
