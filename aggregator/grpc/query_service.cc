#include <grpcpp/grpcpp.h>

#include <string>
#include <string_view>
#include <vector>

#include "aggregator/grpc/services.h"
#include "aggregator/query/run_query.h"
#include "analysis/base/status_macros.h"
#include "lockstep/v1/query.grpc.pb.h"
#include "proto/query_codec.h"

namespace lockstep {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr int kRunsAChunk = 1000;

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

void WriteError(const absl::Status& status, grpc::ServerWriter<v1::ReportChunk>& writer) {
  v1::ReportChunk chunk;
  chunk.mutable_error()->set_code(static_cast<uint32_t>(status.code()));
  chunk.mutable_error()->set_message(std::string(status.message()));
  writer.Write(chunk);
}

void WriteJson(std::string_view json, grpc::ServerWriter<v1::ReportChunk>& writer) {
  for (size_t at = 0; at < json.size(); at += kChunkBytes) {
    v1::ReportChunk chunk;
    chunk.set_json(std::string(json.substr(at, kChunkBytes)));
    if (!writer.Write(chunk)) {
      return;  // the asker has gone
    }
  }
}

class QueryService : public v1::Query::Service {
 public:
  QueryService(JobStore& store, Executor& executor) : store_(store), executor_(executor) {}

  grpc::Status Runs(grpc::ServerContext* /*context*/, const v1::RunsRequest* /*request*/,
                    grpc::ServerWriter<v1::RunsChunk>* writer) override {
    const absl::StatusOr<std::vector<RunInfo>> runs = store_.ListRuns();
    if (!runs.ok()) {
      return ToGrpc(runs.status());
    }
    v1::RunsChunk chunk;
    for (const RunInfo& run : *runs) {
      ToProto(run, chunk.add_runs());
      if (chunk.runs_size() == kRunsAChunk) {
        writer->Write(chunk);
        chunk.Clear();
      }
    }
    writer->Write(chunk);
    return grpc::Status::OK;
  }

  grpc::Status Views(grpc::ServerContext* /*context*/, const v1::ViewsRequest* request,
                     grpc::ServerWriter<v1::ReportChunk>* writer) override {
    const absl::StatusOr<std::string> answer = Answer(*request);
    if (answer.ok()) {
      WriteJson(*answer, *writer);
    } else {
      WriteError(answer.status(), *writer);
    }
    return grpc::Status::OK;
  }

  grpc::Status Administer(grpc::ServerContext* /*context*/, const v1::AdministerRequest* request,
                          v1::AdministerResponse* /*response*/) override {
    switch (request->action_case()) {
      case v1::AdministerRequest::kFinishRun:
        return ToGrpc(Finish(request->finish_run()));
      case v1::AdministerRequest::kDropRun:
        return ToGrpc(store_.DropRun(request->drop_run()));
      case v1::AdministerRequest::ACTION_NOT_SET:
        break;
    }
    return {grpc::StatusCode::UNIMPLEMENTED, "an action that this aggregator does not know"};
  }

 private:
  absl::StatusOr<std::string> Answer(const v1::ViewsRequest& request) {
    LOCKSTEP_ASSIGN_OR_RETURN(const AnalysisOptions options, FromProto(request));
    return AnswerViews(store_, request.run(), options, executor_);
  }

  absl::Status Finish(const std::string& run) {
    LOCKSTEP_RETURN_IF_ERROR(store_.FinishRun(run));
    return PublishRanks(store_, run);
  }

  JobStore& store_;
  Executor& executor_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeQueryService(JobStore& store, Executor& executor) {
  return std::make_unique<QueryService>(store, executor);
}

}  // namespace lockstep
