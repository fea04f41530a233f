#include "aggregator/grpc/server.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "aggregator/grpc/call_guard.h"
#include "aggregator/grpc/services.h"
#include "aggregator/ingest/run_opener.h"
#include "aggregator/query/answers_ahead.h"
#include "aggregator/query/run_query.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/received_batch.h"
#include "platform/clock.h"
#include "platform/executor.h"
#include "platform/host.h"
#include "platform/log.h"
#include "platform/pem.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

constexpr int kStreamsOfAConnection = 256;
constexpr int kTlsRecordBytes = 4'096;

class Server : public AggregatorServer {
 public:
  Server(JobStore& store, const AggregatorServerOptions& options, std::shared_ptr<AccessControl> access)
      : options_(options),
        store_(store),
        access_(std::move(access)),
        guard_(access_),
        executor_(options.analysis_threads),
        open_runs_(store, executor_),
        ahead_(options.answers_ahead ? std::make_unique<AnswersAhead>(store, executor_) : nullptr),
        opener_(store),
        admission_(options.limits),
        environment_{.store = store,
                     .opener = opener_,
                     .limits = options.limits,
                     .admission = &admission_,
                     .metrics = options.metrics,
                     .decode = [](std::string_view body) { return DecodeForStore(body); },
                     .on_drained = [this](const std::string& run) { OnDrained(run); },
                     .store_start = static_cast<uint64_t>(SystemClock().UnixNs())},
        questions_{
            .store = store,
            .opener = opener_,
            .answer = [this](const std::string& run, const AnalysisOptions& asked) { return AnswerNow(run, asked); },
            .on_finished = [this](const std::string& run) { return OnEnded(run); }},
        answering_(static_cast<size_t>(options.limits.max_working)),
        ingest_(MakeIngestService(environment_, guard_, answering_)),
        query_(MakeQueryService(questions_, guard_)) {}

  ~Server() override { Shutdown(); }

  absl::Status Listen() {
    grpc::ServerBuilder builder;
    Harden(builder);
    int port = 0;
    if (!options_.listen.empty()) {
      grpc::EnableDefaultHealthCheckService(true);
      builder.AddListeningPort(options_.listen, ServerCredentialsFor(options_.tls, access_), &port);
    }
    builder.RegisterService(ingest_.get());
    builder.RegisterService(query_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || (!options_.listen.empty() && port == 0)) {
      return absl::UnavailableError(fmt::format(
          "cannot listen on {}: is the port in use, and does the host name this machine?", options_.listen));
    }
    if (auto address = ParseAddress(options_.listen)) {
      address->port = static_cast<uint16_t>(port);
      address_ = address->ToString();
    }
    return absl::OkStatus();
  }

  [[nodiscard]] const std::string& address() const override { return address_; }

  std::shared_ptr<grpc::Channel> InProcessChannel() override {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(static_cast<int>(options_.limits.max_message_bytes));
    return server_->InProcessChannel(arguments);
  }

  void Shutdown() override {
    if (server_ == nullptr) {
      return;
    }
    if (auto* const health = server_->GetHealthCheckService()) {
      health->SetServingStatus(false);
    }
    guard_.gate().CloseAndWait(options_.grace_ns);
    open_runs_.Stop();
    if (ahead_ != nullptr) ahead_->Stop();
    admission_.Close();
    server_->Shutdown(std::chrono::system_clock::now());  // what is still open is cancelled
    server_->Wait();
    guard_.gate().WaitUntilEmpty();  // whatever gRPC waits for: nothing of a stream is left
  }

  absl::StatusOr<std::string> Answer(const std::string& run, const AnalysisOptions& options) override {
    const DrainGate::Pass pass(guard_.gate());
    if (!pass) return absl::UnavailableError("the aggregator is going down: try again in a second");
    return AnswerNow(run, options);
  }

  [[nodiscard]] Admission::Load load() const override { return admission_.load(); }

 private:
  absl::StatusOr<std::string> AnswerNow(const std::string& run, const AnalysisOptions& asked) {
    return AnswerViews(store_, run, asked, executor_, &open_runs_);
  }

  // A trace of the run has ended, or the run.
  absl::Status OnEnded(const std::string& run) {
    if (ahead_ != nullptr) ahead_->Ended(run);
    return PublishRanks(store_, run);
  }

  void OnDrained(const std::string& run) {
    const absl::Status published = OnEnded(run);
    if (!published.ok()) {
      LogWarning("run '{}': the ranks could not be written into the store: {}", run, std::string(published.message()));
    }
  }

  // Of connections, streams and the messages that are just being put together for them: beyond it gRPC ends streams.
  void BoundMemory(grpc::ServerBuilder& builder) const {
    constexpr int64_t kOfAStream = int64_t{128} << 10;  // with TLS
    const int64_t most = int64_t{1} << 40;
    const IngestLimits& limits = options_.limits;
    const int64_t streams = std::min(limits.max_streams, most / kOfAStream) * kOfAStream;
    grpc::ResourceQuota quota("lockstep-aggregator");
    quota.Resize(static_cast<size_t>(std::min(limits.max_held_bytes, most) + streams));
    builder.SetResourceQuota(quota);
  }

  void Harden(grpc::ServerBuilder& builder) const {
    builder.SetMaxReceiveMessageSize(static_cast<int>(options_.limits.max_message_bytes));
    BoundMemory(builder);
    // This gRPC inflates a message before it checks the size; columns are compressed inside the batch instead.
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
    builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
    // Two aggregators on one port would each get half of the agents.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 30'000);
    // What arrives unasked on a stream stays within the fixed window, however fast the line.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsOfAConnection);
    // A connection is not cut off for its pings: of those that came with the one that was too many each would cost 6 kB
    // (gRPC 1.51), without any limit over connections. That of frames that ask for an answer (10,000) bounds them.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    // With TLS every connection keeps a buffer for one record to be sent, of 16 KiB if nothing is said.
    builder.AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, kTlsRecordBytes);
  }

  const AggregatorServerOptions options_;
  JobStore& store_;
  const std::shared_ptr<AccessControl> access_;  // null: everybody may do everything
  CallGuard guard_;
  ThreadPool executor_;
  OpenRuns open_runs_;
  const std::unique_ptr<AnswersAhead> ahead_;  // null: not asked for
  RunOpener opener_;
  Admission admission_;
  const IngestEnvironment environment_;
  const QueryEnvironment questions_;
  AnsweringThreads answering_;
  const std::unique_ptr<grpc::Service> ingest_;
  const std::unique_ptr<grpc::Service> query_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;  // last: its threads use all the others
};

// Or else every failed handshake of a stranger would be a line on stderr. GRPC_VERBOSITY brings them back.
void QuietenGrpc() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<AggregatorServer>> AggregatorServer::Start(JobStore& store,
                                                                          const AggregatorServerOptions& options) {
  if (!options.listen.empty() && !ParseAddress(options.listen)) {
    return absl::InvalidArgumentError(
        fmt::format("cannot listen on '{}': HOST:PORT is needed, for example 127.0.0.1:7700", options.listen));
  }
  QuietenGrpc();
  KeepOpenSslUntilTheEnd();
  LOCKSTEP_RETURN_IF_ERROR(CheckPemFiles(options.tls.certificate, options.tls.key, options.tls.client_ca));
  std::shared_ptr<AccessControl> access;
  if (!options.tokens.empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(access, AccessControl::Open(options.tokens));
  }
  auto server = std::make_unique<Server>(store, options, std::move(access));
  LOCKSTEP_RETURN_IF_ERROR(server->Listen());
  return server;
}

}  // namespace lockstep
