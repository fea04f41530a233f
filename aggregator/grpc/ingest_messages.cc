#include "aggregator/grpc/ingest_messages.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/base/status_macros.h"
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

// Each tells whether there is something to send.

bool FillWith(const std::monostate&, v1::IngestResponse&) { return false; }

bool FillWith(const IngestWelcome& welcome, v1::IngestResponse& response) {
  response.mutable_welcome()->set_protocol_version(welcome.protocol_version);
  response.mutable_welcome()->set_max_message_bytes(welcome.max_message_bytes);
  response.mutable_welcome()->set_window_batches(welcome.window_batches);
  response.mutable_welcome()->set_store_start(welcome.store_start);
  return true;
}

bool FillWith(const IngestSourceWelcome& welcome, v1::IngestResponse& response) {
  response.mutable_source()->set_source_id(welcome.source_id.Bytes());
  response.mutable_source()->set_last_sequence(welcome.last_sequence);
  response.mutable_source()->set_complete(welcome.complete);
  return true;
}

bool FillWith(const IngestAck& ack, v1::IngestResponse& response) {
  response.mutable_ack()->set_source_id(ack.source_id.Bytes());
  response.mutable_ack()->set_sequence(ack.sequence);
  response.mutable_ack()->set_complete(ack.complete);
  return true;
}

bool FillWith(const IngestFilesStored& files, v1::IngestResponse& response) {
  response.mutable_files()->set_count(files.count);
  response.mutable_files()->set_retry_after_ms(static_cast<uint32_t>(files.retry_after_ms));
  response.mutable_files()->set_detail(files.detail);
  return true;
}

bool FillWith(const IngestLacking& lacking, v1::IngestResponse& response) {
  response.mutable_lacking();
  for (const Hash128& id : lacking.ids) {
    response.mutable_lacking()->add_ids(id.Bytes());
  }
  return true;
}

bool FillWith(const IngestDrained&, v1::IngestResponse& response) {
  response.mutable_drained();
  return true;
}

bool FillWith(const IngestRefusal& refusal, v1::IngestResponse& response) {
  response.mutable_refusal()->set_source_id(refusal.source_id.Bytes());
  response.mutable_refusal()->set_sequence(refusal.sequence);
  response.mutable_refusal()->set_reason(refusal.reason);
  response.mutable_refusal()->set_detail(refusal.detail);
  response.mutable_refusal()->set_retry_after_ms(static_cast<uint32_t>(refusal.retry_after_ms));
  return true;
}

}  // namespace

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

bool Fill(const IngestReply& reply, v1::IngestResponse& response) {
  return std::visit([&](const auto& what) { return FillWith(what, response); }, reply);
}

}  // namespace lockstep
