#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <utility>

#include "aggregator/grpc/services.h"
#include "aggregator/ingest/message_pacer.h"
#include "analysis/base/status_macros.h"
#include "lockstep/v1/ingest.grpc.pb.h"
#include "platform/clock.h"
#include "platform/log.h"
#include "platform/mutex.h"
#include "platform/outage.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

absl::StatusOr<Hash128> HashFrom(const std::string& bytes, const char* what) {
  if (bytes.size() != 16) {
    return absl::InvalidArgumentError(fmt::format("{} has {} bytes instead of 16", what, bytes.size()));
  }
  return Hash128::FromBytes(bytes);
}

absl::StatusOr<IngestMessage> BatchOf(const v1::BatchEnvelope& envelope) {
  LOCKSTEP_ASSIGN_OR_RETURN(const Hash128 source_id, HashFrom(envelope.source_id(), "the source id of a batch"));
  LOCKSTEP_ASSIGN_OR_RETURN(const Hash128 hash, HashFrom(envelope.content_hash(), "the content hash of a batch"));
  return IngestBatch{
      .source_id = source_id, .sequence = envelope.sequence(), .content_hash = hash, .body = envelope.body()};
}

absl::StatusOr<IngestMessage> OfferOf(const v1::Offer& offer) {
  IngestOffer out;
  for (const v1::Extent& extent : offer.extents()) {
    LOCKSTEP_ASSIGN_OR_RETURN(const Hash128 id, HashFrom(extent.id(), "an id of an offer"));
    out.extents.push_back({.id = id, .batches = extent.batches()});
  }
  return out;
}

IngestMessage HelloOf(const v1::Hello& hello) {
  return IngestHello{.protocol_version = hello.protocol_version(),
                     .run = hello.run(),
                     .agent = hello.agent(),
                     .agent_version = hello.agent_version(),
                     .expected_ranks = hello.expected_ranks(),
                     .replace = hello.replace(),
                     .parks = hello.parks()};
}

template <typename T>
absl::StatusOr<IngestMessage> Lift(absl::StatusOr<T> value) {
  if (!value.ok()) {
    return std::move(value).status();
  }
  return IngestMessage(*std::move(value));
}

// The values may refer to the request.
absl::StatusOr<IngestMessage> MessageOf(const v1::IngestRequest& request) {
  switch (request.message_case()) {
    case v1::IngestRequest::kHello:
      return HelloOf(request.hello());
    case v1::IngestRequest::kSource:
      return Lift(FromProto(request.source().context()));
    case v1::IngestRequest::kBatch:
      return BatchOf(request.batch());
    case v1::IngestRequest::kFile:
      return Lift(FromProto(request.file()));
    case v1::IngestRequest::kOffer:
      return OfferOf(request.offer());
    case v1::IngestRequest::kFinish:
      return IngestFinish{};
    case v1::IngestRequest::kDrain:
      return IngestDrain{};
    case v1::IngestRequest::MESSAGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "a message of a kind that this aggregator does not know: it is older than the agent");
}

// --- values to messages; each Fill tells whether there is something to send ---

bool Fill(const std::monostate&, v1::IngestResponse&) { return false; }

bool Fill(const IngestWelcome& welcome, v1::IngestResponse& response) {
  response.mutable_welcome()->set_protocol_version(welcome.protocol_version);
  response.mutable_welcome()->set_max_message_bytes(welcome.max_message_bytes);
  response.mutable_welcome()->set_window_batches(welcome.window_batches);
  response.mutable_welcome()->set_store_start(welcome.store_start);
  return true;
}

bool Fill(const IngestSourceWelcome& welcome, v1::IngestResponse& response) {
  response.mutable_source()->set_source_id(welcome.source_id.Bytes());
  response.mutable_source()->set_last_sequence(welcome.last_sequence);
  response.mutable_source()->set_complete(welcome.complete);
  return true;
}

bool Fill(const IngestAck& ack, v1::IngestResponse& response) {
  response.mutable_ack()->set_source_id(ack.source_id.Bytes());
  response.mutable_ack()->set_sequence(ack.sequence);
  response.mutable_ack()->set_complete(ack.complete);
  return true;
}

bool Fill(const IngestFilesStored& files, v1::IngestResponse& response) {
  response.mutable_files()->set_count(files.count);
  response.mutable_files()->set_retry_after_ms(static_cast<uint32_t>(files.retry_after_ms));
  response.mutable_files()->set_detail(files.detail);
  return true;
}

bool Fill(const IngestLacking& lacking, v1::IngestResponse& response) {
  response.mutable_lacking();
  for (const Hash128& id : lacking.ids) {
    response.mutable_lacking()->add_ids(id.Bytes());
  }
  return true;
}

bool Fill(const IngestDrained&, v1::IngestResponse& response) {
  response.mutable_drained();
  return true;
}

bool Fill(const IngestRefusal& refusal, v1::IngestResponse& response) {
  response.mutable_refusal()->set_source_id(refusal.source_id.Bytes());
  response.mutable_refusal()->set_sequence(refusal.sequence);
  response.mutable_refusal()->set_reason(refusal.reason);
  response.mutable_refusal()->set_detail(refusal.detail);
  response.mutable_refusal()->set_retry_after_ms(static_cast<uint32_t>(refusal.retry_after_ms));
  return true;
}

class IngestService : public v1::Ingest::Service {
 public:
  IngestService(const IngestEnvironment& environment, CallGuard& guard)
      : environment_(environment), admission_(*environment.admission), guard_(guard) {}

  grpc::Status Stream(grpc::ServerContext* context,
                      grpc::ServerReaderWriter<v1::IngestResponse, v1::IngestRequest>* stream) override {
    const DrainGate::Pass pass(guard_.gate());
    if (!pass) {
      return CallGuard::GoingDown(*context);
    }
    if (const absl::Status allowed = guard_.Allow(*context, Action::kIngest, std::nullopt); !allowed.ok()) {
      return ToGrpc(allowed);
    }
    const Admission::StreamPass stream_pass(admission_);
    if (!stream_pass) {
      return CallGuard::WithRetryHint(*context, admission_.TooManyStreams());
    }
    if (environment_.metrics != nullptr) {
      environment_.metrics->OnStream();
    }
    IngestSession session(environment_);
    MessagePacer pacer(environment_.limits);
    v1::IngestRequest request;
    bool drained = false;
    while (Next(*stream, pacer, request)) {
      drained = request.has_drain();
      const absl::StatusOr<IngestReply> reply = Admit(*context, session, request);
      if (!reply.ok()) {
        TellEnd(session, reply.status());
        return CallGuard::WithRetryHint(*context, reply.status());
      }
      TellRefusal(session, *reply);
      request.Clear();  // neither a stream whose agent does not read nor an idle one keeps a message
      v1::IngestResponse response;
      if (std::visit([&](const auto& what) { return Fill(what, response); }, *reply)) {
        stream->Write(response);  // a broken stream shows at the next read
      }
    }
    if (admission_.closed().stop_requested()) {
      return CallGuard::GoingDown(*context);
    }
    // The library tells of a message that cannot be read no more than of the end.
    if (drained || context->IsCancelled()) {
      return grpc::Status::OK;
    }
    return ToGrpc(absl::InvalidArgumentError(
        fmt::format("the stream ended without a drain, or with a message that is no IngestRequest of at most {} bytes",
                    environment_.limits.max_message_bytes)));
  }

 private:
  using AgentStream = grpc::ServerReaderWriter<v1::IngestResponse, v1::IngestRequest>;

  // Reads nothing while there is no room for it or it is too early: what the agent has waits on its side.
  bool Next(AgentStream& stream, MessagePacer& pacer, v1::IngestRequest& request) const {
    const int64_t early_ns = pacer.EarlyNs(SystemClock().MonotonicNs());
    return (early_ns == 0 || WaitUnlessStopped(admission_.closed(), early_ns)) && admission_.WaitForRoom() &&
           stream.Read(&request);
  }

  // What waits because of a limit comes again and again.
  void TellRefusal(const IngestSession& session, const IngestReply& reply) LOCKSTEP_EXCLUDES(mutex_) {
    const auto* refusal = std::get_if<IngestRefusal>(&reply);
    const auto* files = std::get_if<IngestFilesStored>(&reply);
    if (refusal != nullptr && refusal->retry_after_ms == 0) {
      LogWarning("source {} of agent '{}' refused: {}: {}", refusal->source_id.Hex(), session.agent(), refusal->reason,
                 refusal->detail);
    } else if (refusal != nullptr && MayTellLimit()) {
      LogWarning("source {} of agent '{}' has to wait: {}", refusal->source_id.Hex(), session.agent(), refusal->detail);
    } else if (files != nullptr && files->retry_after_ms > 0 && MayTellLimit()) {
      LogWarning("a note of agent '{}' has to wait: {}", session.agent(), files->detail);
    }
  }

  bool MayTellLimit() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return limited_.Met(SystemClock().MonotonicNs());
  }

  // Calmly: agents that meet a limit come again and again.
  void TellEnd(const IngestSession& session, const absl::Status& status) LOCKSTEP_EXCLUDES(mutex_) {
    if (environment_.metrics != nullptr) {
      environment_.metrics->OnEndedStream(absl::StatusCodeToString(status.code()));
    }
    if (absl::IsResourceExhausted(status) && !MayTellLimit()) {
      return;
    }
    LogWarning("stream of agent '{}' for run '{}' ended: {}", session.agent(), session.run(),
               std::string(status.message()));
  }

  absl::StatusOr<IngestReply> Admit(const grpc::ServerContext& context, IngestSession& session,
                                    const v1::IngestRequest& request) const {
    const Admission::Hold hold(admission_, static_cast<int64_t>(request.ByteSizeLong()));
    if (!hold) {
      return admission_.TooManyBytes();
    }
    const int64_t start_ns = SystemClock().MonotonicNs();
    absl::StatusOr<IngestReply> reply = Answer(context, session, request);
    if (environment_.metrics != nullptr && request.has_batch()) {
      environment_.metrics->OnAnswered(SystemClock().MonotonicNs() - start_ns);
    }
    return reply;
  }

  // Asks for every message: a token that was taken back must not go on on an open stream.
  absl::StatusOr<IngestReply> Answer(const grpc::ServerContext& context, IngestSession& session,
                                     const v1::IngestRequest& request) const {
    const bool is_hello = request.has_hello();
    const Action action = is_hello && request.hello().replace() ? Action::kReplace : Action::kIngest;
    LOCKSTEP_RETURN_IF_ERROR(guard_.Allow(context, action, is_hello ? request.hello().run() : session.run()));
    LOCKSTEP_ASSIGN_OR_RETURN(const IngestMessage message, MessageOf(request));
    return session.On(message);
  }

  const IngestEnvironment& environment_;
  Admission& admission_;
  CallGuard& guard_;
  Mutex mutex_;
  Outage limited_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<grpc::Service> MakeIngestService(const IngestEnvironment& environment, CallGuard& guard) {
  return std::make_unique<IngestService>(environment, guard);
}

}  // namespace lockstep
