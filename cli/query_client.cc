#include "cli/query_client.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "agent/uplink/grpc/grpc_transport.h"
#include "analysis/base/status_macros.h"
#include "analysis/report/json.h"
#include "lockstep/v1/query.grpc.pb.h"
#include "proto/query_codec.h"
#include "web/json/report_json.h"

namespace lockstep {

struct QueryClient::Connection {
  std::unique_ptr<v1::Query::Stub> stub;
  std::string name;
  std::string token_file;

  [[nodiscard]] absl::Status FromGrpc(const grpc::Status& status) const {
    if (status.ok()) {
      return absl::OkStatus();
    }
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
      return absl::UnavailableError(
          fmt::format("the aggregator {} cannot be reached ({}): is it running there, and do --tls, --tls-ca and "
                      "--tls-name fit its certificate?",
                      name, status.error_message()));
    }
    return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
  }

  [[nodiscard]] absl::StatusOr<v1::AdministerResponse> Administer(const v1::AdministerRequest& request) const {
    grpc::ClientContext context;
    AddToken(token_file, context);
    v1::AdministerResponse response;
    LOCKSTEP_RETURN_IF_ERROR(FromGrpc(stub->Administer(&context, request, &response)));
    return response;
  }
};

namespace {

absl::Status StatusOf(const v1::QueryError& error) {
  return {static_cast<absl::StatusCode>(error.code()), error.message()};
}

}  // namespace

QueryClient::QueryClient(std::shared_ptr<grpc::Channel> channel, std::string name, std::string token_file)
    : connection_(std::make_unique<Connection>(Connection{.stub = v1::Query::NewStub(std::move(channel)),
                                                          .name = std::move(name),
                                                          .token_file = std::move(token_file)})) {}
QueryClient::~QueryClient() = default;
QueryClient::QueryClient(QueryClient&&) noexcept = default;
QueryClient& QueryClient::operator=(QueryClient&&) noexcept = default;

absl::StatusOr<std::vector<RunInfo>> QueryClient::Runs() const {
  grpc::ClientContext context;
  AddToken(connection_->token_file, context);
  const auto reader = connection_->stub->Runs(&context, v1::RunsRequest());
  std::vector<RunInfo> runs;
  absl::Status decoded;
  for (v1::RunsChunk chunk; reader->Read(&chunk);) {
    for (const v1::Run& run : chunk.runs()) {
      absl::StatusOr<RunInfo> info = FromProto(run);
      if (info.ok()) {
        runs.push_back(*std::move(info));
      } else {
        decoded.Update(info.status());
      }
    }
  }
  LOCKSTEP_RETURN_IF_ERROR(connection_->FromGrpc(reader->Finish()));
  LOCKSTEP_RETURN_IF_ERROR(decoded);
  return runs;
}

absl::StatusOr<std::string> QueryClient::ViewsText(const std::string& run, const AnalysisOptions& options) const {
  v1::ViewsRequest request;
  ToProto(run, options, &request);
  grpc::ClientContext context;
  AddToken(connection_->token_file, context);
  const auto reader = connection_->stub->Views(&context, request);
  std::string text;
  absl::Status error;
  for (v1::ReportChunk chunk; reader->Read(&chunk);) {
    text += chunk.json();
    if (chunk.has_error()) {
      error = StatusOf(chunk.error());
    }
  }
  LOCKSTEP_RETURN_IF_ERROR(connection_->FromGrpc(reader->Finish()));
  LOCKSTEP_RETURN_IF_ERROR(error);
  return text;
}

absl::StatusOr<Json> QueryClient::Views(const std::string& run, const AnalysisOptions& options) const {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ViewsText(run, options));
  Json report = ParseReport(text);
  if (report.is_discarded()) {
    return absl::DataLossError(fmt::format("{} returned invalid JSON ({} bytes); is the aggregator the same version?",
                                           connection_->name, text.size()));
  }
  return report;
}

absl::Status QueryClient::FinishRun(const std::string& run) const {
  v1::AdministerRequest request;
  request.set_finish_run(run);
  return connection_->Administer(request).status();
}

absl::Status QueryClient::DropRun(const std::string& run) const {
  v1::AdministerRequest request;
  request.set_drop_run(run);
  return connection_->Administer(request).status();
}

absl::Status QueryClient::SetBaseline(const std::string& name, const std::string& run) const {
  v1::AdministerRequest request;
  request.mutable_set_baseline()->set_name(name);
  request.mutable_set_baseline()->set_run(run);
  return connection_->Administer(request).status();
}

absl::Status QueryClient::RemoveBaseline(const std::string& name) const {
  v1::AdministerRequest request;
  request.set_remove_baseline(name);
  return connection_->Administer(request).status();
}

absl::StatusOr<std::vector<PruneVerdict>> QueryClient::Prune(const PruneRequest& request) const {
  v1::AdministerRequest message;
  ToProto(request, message.mutable_prune());
  LOCKSTEP_ASSIGN_OR_RETURN(const v1::AdministerResponse response, connection_->Administer(message));
  std::vector<PruneVerdict> verdicts;
  for (const v1::PruneVerdict& verdict : response.pruned()) {
    verdicts.push_back(FromProto(verdict));
  }
  return verdicts;
}

}  // namespace lockstep
