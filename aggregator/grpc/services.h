// The two services of lockstep.v1, as thin skins: messages to values, a call of the session or the query, values to
// messages. One thread a stream; no logic lives here.
#pragma once

#include <memory>

#include "aggregator/ingest/ingest_session.h"
#include "aggregator/store/job_store.h"
#include "analysis/model/run_data.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace lockstep {

// The environment, the store and the executor must outlive the services.
[[nodiscard]] std::unique_ptr<grpc::Service> MakeIngestService(const IngestEnvironment& environment);
[[nodiscard]] std::unique_ptr<grpc::Service> MakeQueryService(JobStore& store, Executor& executor);

}  // namespace lockstep
