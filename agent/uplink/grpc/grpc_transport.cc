#include "agent/uplink/grpc/grpc_transport.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "agent/uplink/retry_hint.h"
#include "lockstep/v1/ingest.grpc.pb.h"
#include "platform/log.h"
#include "platform/secret_file.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

// --- values to messages ---

void Fill(const UplinkHello& hello, v1::IngestRequest& request) {
  v1::Hello& out = *request.mutable_hello();
  out.set_protocol_version(kUplinkProtocolVersion);
  out.set_run(hello.run);
  out.set_agent(hello.agent);
  out.set_agent_version(hello.agent_version);
  out.set_expected_ranks(hello.expected_ranks < 0 ? 0 : hello.expected_ranks);
  out.set_replace(hello.replace);
  out.set_parks(true);
}

void Fill(const SourceContext& context, v1::IngestRequest& request) {
  ToProto(context, request.mutable_source()->mutable_context());
}

void Fill(const OutgoingBatchPtr& batch, v1::IngestRequest& request) {
  v1::BatchEnvelope& out = *request.mutable_batch();
  out.set_source_id(batch->source_id.Bytes());
  out.set_sequence(batch->sequence);
  out.set_content_hash(batch->content_hash.Bytes());
  out.set_body(batch->body);
}

void Fill(const FileNote& note, v1::IngestRequest& request) { ToProto(note, request.mutable_file()); }

void Fill(const UplinkOffer& offer, v1::IngestRequest& request) {
  request.mutable_offer();
  for (const SourceExtent& extent : offer.extents) {
    v1::Extent& out = *request.mutable_offer()->add_extents();
    out.set_id(extent.id.Bytes());
    out.set_batches(extent.batches);
  }
}

void Fill(const FinishRun&, v1::IngestRequest& request) { request.mutable_finish(); }
void Fill(const DrainRequest&, v1::IngestRequest& request) { request.mutable_drain(); }

// --- messages to values; null for a kind that this release does not know ---

std::optional<UplinkEvent> EventOf(const v1::IngestResponse& response) {
  switch (response.message_case()) {
    case v1::IngestResponse::kWelcome:
      return WelcomeEvent{.protocol_version = response.welcome().protocol_version(),
                          .max_message_bytes = response.welcome().max_message_bytes(),
                          .window_batches = response.welcome().window_batches(),
                          .store_start = response.welcome().store_start()};
    case v1::IngestResponse::kSource:
      return SourceWelcomeEvent{.source_id = Hash128::FromBytes(response.source().source_id()),
                                .last_sequence = response.source().last_sequence(),
                                .complete = response.source().complete()};
    case v1::IngestResponse::kAck:
      return AckEvent{.source_id = Hash128::FromBytes(response.ack().source_id()),
                      .sequence = response.ack().sequence(),
                      .complete = response.ack().complete()};
    case v1::IngestResponse::kFiles:
      return FilesStoredEvent{.count = response.files().count(),
                              .retry_after_ms = response.files().retry_after_ms(),
                              .detail = response.files().detail()};
    case v1::IngestResponse::kLacking: {
      LackingEvent lacking;
      for (const std::string& id : response.lacking().ids()) {
        lacking.ids.push_back(Hash128::FromBytes(id));
      }
      return lacking;
    }
    case v1::IngestResponse::kDrained:
      return DrainedEvent{};
    case v1::IngestResponse::kRefusal:
      return RefusalEvent{.source_id = Hash128::FromBytes(response.refusal().source_id()),
                          .sequence = response.refusal().sequence(),
                          .reason = response.refusal().reason(),
                          .detail = response.refusal().detail(),
                          .retry_after_ms = response.refusal().retry_after_ms()};
    case v1::IngestResponse::MESSAGE_NOT_SET:
      break;
  }
  return std::nullopt;
}

class GrpcUplinkStream : public UplinkStream {
 public:
  GrpcUplinkStream(v1::Ingest::Stub& stub, const std::string& token_file) {
    AddToken(token_file, context_);
    stream_ = stub.Stream(&context_);
  }

  bool Write(const UplinkMessage& message) override {
    v1::IngestRequest request;
    std::visit([&](const auto& what) { Fill(what, request); }, message);
    return stream_->Write(request);
  }

  std::optional<UplinkEvent> Read() override {
    v1::IngestResponse response;
    while (stream_->Read(&response)) {
      if (auto event = EventOf(response)) {
        return event;
      }
    }
    return std::nullopt;
  }

  void CloseWrites() override { stream_->WritesDone(); }

  absl::Status Finish() override {
    const grpc::Status status = stream_->Finish();
    absl::Status ended(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
    const auto& trailers = context_.GetServerTrailingMetadata();
    if (const auto hint = trailers.find("grpc-retry-pushback-ms"); hint != trailers.end()) {
      SetRetryAfterMs(ended, {hint->second.data(), hint->second.size()});
    }
    return ended;
  }

  void Cancel() override { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;  // outlives the stream
  std::unique_ptr<grpc::ClientReaderWriter<v1::IngestRequest, v1::IngestResponse>> stream_;
};

class GrpcTransport : public UplinkTransport {
 public:
  GrpcTransport(std::shared_ptr<grpc::Channel> channel, std::string token_file, int64_t connect_ns)
      : channel_(std::move(channel)),
        stub_(v1::Ingest::NewStub(channel_)),
        token_file_(std::move(token_file)),
        connect_ns_(connect_ns) {}

  std::unique_ptr<UplinkStream> Open() override {
    if (connect_ns_ > 0) {
      // A channel gets on with connecting only while somebody waits on it: without this, a server that is back would be
      // found only by the next attempt but one.
      channel_->WaitForConnected(std::chrono::system_clock::now() + std::chrono::nanoseconds(connect_ns_));
    }
    return std::make_unique<GrpcUplinkStream>(*stub_, token_file_);
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Ingest::Stub> stub_;
  const std::string token_file_;
  const int64_t connect_ns_;
};

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const ChannelSecurity& security) {
  if (!security.tls) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::experimental::TlsChannelCredentialsOptions options;
  if (!security.ca.empty() || !security.certificate.empty()) {
    options.set_certificate_provider(std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
        security.key, security.certificate, security.ca, security.refresh_s));
  }
  if (!security.ca.empty()) {
    options.watch_root_certs();
  }
  if (!security.certificate.empty()) {
    options.watch_identity_key_cert_pairs();
  }
  return grpc::experimental::TlsCredentials(options);
}

// What goes wrong is in the status of the call; gRPC's own lines on stderr only repeat it. GRPC_VERBOSITY shows them.
void QuietenGrpc() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
  }
}

}  // namespace

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& address, const ChannelSecurity& security) {
  QuietenGrpc();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // else gRPC joins equal channels on one connection
  // The uplink has its own back-off; the channel only has to be ready for the next attempt.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);  // in truth the time that one attempt is given
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  // An aggregator with 12,000 streams on a starved machine was seen to answer after more than 10 s; a dead one is found
  // out after 50 s, and costs nothing until then.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 30'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(16 << 20);
  if (!security.server_name.empty()) {
    arguments.SetSslTargetNameOverride(security.server_name);
  }
  return grpc::CreateCustomChannel(address, CredentialsOf(security), arguments);
}

void AddToken(const std::string& token_file, grpc::ClientContext& context) {
  if (token_file.empty()) {
    return;
  }
  const absl::StatusOr<std::string> token = ReadTokenFile(token_file);
  if (token.ok()) {
    context.AddMetadata("authorization", "Bearer " + *token);
  } else {
    LogWarning("going without a token: {}", std::string(token.status().message()));
  }
}

std::unique_ptr<UplinkTransport> MakeGrpcTransport(std::shared_ptr<grpc::Channel> channel,
                                                   const std::string& token_file, int64_t connect_ns) {
  return std::make_unique<GrpcTransport>(std::move(channel), token_file, connect_ns);
}

}  // namespace lockstep
