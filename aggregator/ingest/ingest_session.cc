#include "aggregator/ingest/ingest_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aggregator/store/memory/store_limits.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"

namespace lockstep {
namespace {

// In one message.
constexpr size_t kMostOffered = 1'000;

constexpr std::string_view kLimitReason = "admission_limit";
// When a source beyond a limit may be announced again: a person has to make room.
constexpr int64_t kParkedMs = 30'000;

bool IsGoodRunName(std::string_view name, size_t max_bytes) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !name.empty() && name.size() <= max_bytes && std::none_of(name.begin(), name.end(), is_control);
}

bool IsConflict(const absl::Status& status) {
  return status.code() == absl::StatusCode::kFailedPrecondition &&
         std::string(status.message()).find(Name(DropReason::kConflictingBatch)) != std::string::npos;
}

}  // namespace

IngestSession::~IngestSession() {
  if (welcomed_) {
    environment_.opener.Close(run_, replaces_);
  }
}

absl::StatusOr<IngestReply> IngestSession::On(const IngestMessage& message) {
  if (welcomed_ == std::holds_alternative<IngestHello>(message)) {
    return absl::InvalidArgumentError("the hello must be the first message of a stream, and the only one");
  }
  return std::visit([this](const auto& what) { return Handle(what); }, message);
}

absl::StatusOr<IngestReply> IngestSession::Handle(const IngestHello& hello) {
  if (hello.protocol_version != kIngestProtocolVersion) {
    return absl::InvalidArgumentError(
        fmt::format("agent {} speaks protocol version {}, this aggregator {}: use releases that agree", hello.agent,
                    hello.protocol_version, kIngestProtocolVersion));
  }
  if (!IsGoodRunName(hello.run, environment_.limits.max_run_name_bytes)) {
    return absl::InvalidArgumentError(
        fmt::format("agent {}: a run needs a name of 1 to {} bytes without control characters", hello.agent,
                    environment_.limits.max_run_name_bytes));
  }
  const int32_t expected = hello.expected_ranks > 0 ? hello.expected_ranks : -1;
  LOCKSTEP_RETURN_IF_ERROR(environment_.opener.Open(hello.run, expected, hello.replace));
  run_ = hello.run;
  agent_ = hello.agent;
  replaces_ = hello.replace;
  parks_ = hello.parks;
  welcomed_ = true;
  return IngestWelcome{.protocol_version = kIngestProtocolVersion,
                       .max_message_bytes = environment_.limits.max_message_bytes,
                       .window_batches = environment_.limits.window_batches,
                       .store_start = environment_.store_start};
}

absl::StatusOr<IngestReply> IngestSession::Handle(const SourceContext& context) {
  const bool is_new = !sources_.contains(context.source_id);
  if (is_new && static_cast<int64_t>(sources_.size()) >= environment_.limits.max_sources) {
    return absl::ResourceExhaustedError(fmt::format("agent {}: more than {} sources on one stream: use several agents",
                                                    agent_, environment_.limits.max_sources));
  }
  const absl::StatusOr<StoredSource> stored = environment_.store.PutSource(run_, context);
  if (MayPark(stored.status())) {
    return Park(context.source_id, -1, stored.status());
  }
  LOCKSTEP_RETURN_IF_ERROR(stored.status());
  Source& source = sources_[context.source_id];
  source.seen = std::max(source.seen, stored->last_sequence);
  source.parked = false;
  return IngestSourceWelcome{
      .source_id = context.source_id, .last_sequence = stored->last_sequence, .complete = stored->complete};
}

absl::StatusOr<IngestReply> IngestSession::Handle(const IngestBatch& envelope) {
  const auto found = sources_.find(envelope.source_id);
  if (found == sources_.end()) {
    return absl::InvalidArgumentError(
        fmt::format("agent {}: batch {} of source {} came before the source was announced", agent_, envelope.sequence,
                    envelope.source_id.Hex()));
  }
  Source& source = found->second;
  if (source.refused || source.parked) {
    return IngestReply();  // sent before the agent read the refusal
  }
  if (HashOf(envelope.body) != envelope.content_hash) {
    return Refuse(envelope, source, "damaged_batch", "the body does not have the hash that came with it");
  }
  if (environment_.admission == nullptr) {
    return Take(envelope, source);
  }
  const Admission::WorkPass pass(*environment_.admission);
  return pass ? Take(envelope, source) : absl::UnavailableError("the aggregator is going down: try again in a second");
}

absl::StatusOr<IngestReply> IngestSession::Take(const IngestBatch& envelope, Source& source) {
  const absl::StatusOr<ReceivedBatch> received = environment_.decode(envelope.body);
  if (!received.ok()) {
    return Refuse(envelope, source, "undecodable_batch", std::string(received.status().message()));
  }
  if (received->batch.sequence != envelope.sequence) {
    return Refuse(envelope, source, "undecodable_batch",
                  fmt::format("the envelope says batch {}, the body {}", envelope.sequence, received->batch.sequence));
  }
  return Store(envelope, *received, source);
}

absl::StatusOr<IngestReply> IngestSession::Store(const IngestBatch& envelope, const ReceivedBatch& received,
                                                 Source& source) {
  const Batch& batch = received.batch;
  const absl::Status written = environment_.store.PutBatch(run_, envelope.source_id, envelope.content_hash, received);
  if (IsConflict(written)) {
    return Refuse(envelope, source, Name(DropReason::kConflictingBatch), std::string(written.message()));
  }
  if (MayPark(written)) {
    source.parked = true;
    return Park(envelope.source_id, envelope.sequence, written);
  }
  LOCKSTEP_RETURN_IF_ERROR(written);
  if (environment_.metrics != nullptr) {
    environment_.metrics->OnStored(batch, envelope.body.size(), envelope.sequence <= source.seen);
  }
  source.seen = std::max(source.seen, envelope.sequence);
  // What this write proves and no more: the run may have been replaced since an earlier one.
  return IngestAck{
      .source_id = envelope.source_id, .sequence = envelope.sequence, .complete = batch.total_batches.has_value()};
}

IngestReply IngestSession::Refuse(const IngestBatch& envelope, Source& source, std::string_view reason,
                                  std::string detail) {
  source.refused = true;
  if (environment_.metrics != nullptr) {
    environment_.metrics->OnRefusedSource(reason);
  }
  return IngestRefusal{.source_id = envelope.source_id,
                       .sequence = envelope.sequence,
                       .reason = std::string(reason),
                       .detail = std::move(detail)};
}

bool IngestSession::MayPark(const absl::Status& status) const { return parks_ && IsLimit(status); }

IngestReply IngestSession::Park(const Hash128& source_id, int64_t sequence, const absl::Status& limit) {
  if (environment_.metrics != nullptr) {
    environment_.metrics->OnRefusedSource(kLimitReason);
  }
  return IngestRefusal{.source_id = source_id,
                       .sequence = sequence,
                       .reason = std::string(kLimitReason),
                       .detail = std::string(limit.message()),
                       .retry_after_ms = kParkedMs};
}

absl::StatusOr<IngestReply> IngestSession::Handle(const FileNote& note) {
  const absl::Status stored = environment_.store.PutFileNote(run_, note);
  if (MayPark(stored)) {
    return IngestFilesStored{
        .count = files_stored_, .retry_after_ms = kParkedMs, .detail = std::string(stored.message())};
  }
  LOCKSTEP_RETURN_IF_ERROR(stored);
  return IngestFilesStored{.count = ++files_stored_};
}

absl::StatusOr<IngestReply> IngestSession::Handle(const IngestOffer& offer) {
  if (offer.extents.size() > kMostOffered) {
    return absl::InvalidArgumentError(fmt::format("agent {}: an offer of {} sources, at most {} are allowed", agent_,
                                                  offer.extents.size(), kMostOffered));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<Hash128> ids, environment_.store.Lacking(run_, offer.extents));
  return IngestLacking{.ids = std::move(ids)};
}

absl::StatusOr<IngestReply> IngestSession::Handle(const IngestFinish&) {
  LOCKSTEP_RETURN_IF_ERROR(environment_.store.FinishRun(run_));
  return IngestReply();
}

absl::StatusOr<IngestReply> IngestSession::Handle(const IngestDrain&) {
  if (environment_.on_drained) {
    environment_.on_drained(run_);
  }
  return IngestDrained{};
}

}  // namespace lockstep
