#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/grpc/services.h"
#include "aggregator/query/prune.h"
#include "analysis/base/status_macros.h"
#include "lockstep/v1/query.grpc.pb.h"
#include "platform/clock.h"
#include "platform/log.h"
#include "proto/query_codec.h"

namespace lockstep {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr int kRunsAChunk = 1000;

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
  QueryService(const QueryEnvironment& environment, CallGuard& guard)
      : environment_(environment), store_(environment.store), guard_(guard) {}

  grpc::Status Runs(grpc::ServerContext* context, const v1::RunsRequest* /*request*/,
                    grpc::ServerWriter<v1::RunsChunk>* writer) override {
    return Guarded(*context, Action::kList, std::nullopt, [&] { return ToGrpc(List(*context, *writer)); });
  }

  grpc::Status Views(grpc::ServerContext* context, const v1::ViewsRequest* request,
                     grpc::ServerWriter<v1::ReportChunk>* writer) override {
    return Guarded(*context, Action::kRead, request->run(), [&] {
      const absl::StatusOr<std::string> answer = Answer(*request);
      if (answer.ok()) {
        WriteJson(*answer, *writer);
      } else {
        WriteError(answer.status(), *writer);
      }
      return grpc::Status::OK;
    });
  }

  grpc::Status Administer(grpc::ServerContext* context, const v1::AdministerRequest* request,
                          v1::AdministerResponse* response) override {
    switch (request->action_case()) {
      case v1::AdministerRequest::kFinishRun:
        return Guarded(*context, Action::kFinish, request->finish_run(),
                       [&] { return ToGrpc(Finish(request->finish_run())); });
      case v1::AdministerRequest::kDropRun:
        return Guarded(*context, Action::kDrop, request->drop_run(),
                       [&] { return ToGrpc(store_.DropRun(request->drop_run())); });
      case v1::AdministerRequest::kPrune:
        return Guarded(*context, Action::kPrune, std::nullopt,
                       [&] { return ToGrpc(PruneRuns(*context, request->prune(), *response)); });
      case v1::AdministerRequest::kSetBaseline: {
        const v1::Baseline& asked = request->set_baseline();
        return Guarded(*context, Action::kFinish, asked.run(), [&] {
          return OfBaseline(*context, asked.name(), [&] { return store_.SetBaseline(asked.name(), asked.run()); });
        });
      }
      case v1::AdministerRequest::kRemoveBaseline:
        return Guarded(*context, Action::kFinish, std::nullopt, [&] {
          const std::string& name = request->remove_baseline();
          return OfBaseline(*context, name, [&] { return store_.RemoveBaseline(name); });
        });
      case v1::AdministerRequest::ACTION_NOT_SET:
        break;
    }
    return {grpc::StatusCode::UNIMPLEMENTED, "an action that this aggregator does not know"};
  }

 private:
  // Does the work if the caller may have it done and the server is not going down.
  template <typename Work>
  grpc::Status Guarded(grpc::ServerContext& context, Action action, std::optional<std::string_view> run, Work work) {
    const DrainGate::Pass pass(guard_.gate());
    if (!pass) {
      return CallGuard::GoingDown(context);
    }
    const absl::Status allowed = guard_.Allow(context, action, run);
    return allowed.ok() ? work() : ToGrpc(allowed);
  }

  // Only runs that the caller may read are named.
  absl::Status List(const grpc::ServerContext& context, grpc::ServerWriter<v1::RunsChunk>& writer) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<RunInfo> runs, store_.ListRuns());
    v1::RunsChunk chunk;
    for (const RunInfo& run : runs) {
      if (guard_.Allow(context, Action::kList, run.name).ok()) {
        ToProto(run, chunk.add_runs());
      }
      if (chunk.runs_size() == kRunsAChunk) {
        writer.Write(chunk);
        chunk.Clear();
      }
    }
    writer.Write(chunk);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Answer(const v1::ViewsRequest& request) {
    LOCKSTEP_ASSIGN_OR_RETURN(const AnalysisOptions options, FromProto(request));
    return environment_.answer(request.run(), options);
  }

  // Does the work if the caller may also change the run that has the name so far.
  template <typename Work>
  grpc::Status OfBaseline(const grpc::ServerContext& context, const std::string& name, Work work) {
    const absl::StatusOr<std::vector<RunInfo>> runs = store_.ListRuns();
    if (!runs.ok()) return ToGrpc(runs.status());
    for (const RunInfo& run : *runs) {
      const bool has_name = std::find(run.baselines.begin(), run.baselines.end(), name) != run.baselines.end();
      const absl::Status allowed = has_name ? guard_.Allow(context, Action::kFinish, run.name) : absl::OkStatus();
      if (!allowed.ok()) return ToGrpc(allowed);
    }
    return ToGrpc(work());
  }

  absl::Status Finish(const std::string& run) {
    LOCKSTEP_RETURN_IF_ERROR(store_.FinishRun(run));
    return environment_.on_finished(run);
  }

  absl::Status PruneRuns(const grpc::ServerContext& context, const v1::Prune& request,
                         v1::AdministerResponse& response) {
    const auto may = [&](const std::string& run) { return guard_.Allow(context, Action::kPrune, run).ok(); };
    LOCKSTEP_ASSIGN_OR_RETURN(const std::vector<PruneVerdict> verdicts,
                              Prune(store_, environment_.opener, FromProto(request), SystemClock().UnixNs(), may));
    for (const PruneVerdict& verdict : verdicts) {
      ToProto(verdict, response.add_pruned());
      if (verdict.removed && !request.dry_run()) {
        LogInfo("run '{}' pruned, {} bytes", verdict.run, verdict.bytes);
      }
    }
    return absl::OkStatus();
  }

  const QueryEnvironment& environment_;
  JobStore& store_;
  CallGuard& guard_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeQueryService(const QueryEnvironment& environment, CallGuard& guard) {
  return std::make_unique<QueryService>(environment, guard);
}

}  // namespace lockstep
