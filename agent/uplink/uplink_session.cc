#include "agent/uplink/uplink_session.h"

#include <absl/status/statusor.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/uplink/retry_hint.h"
#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

// Room for the fields around the body.
constexpr int64_t kEnvelopeBytes = 1024;

absl::Status ProtocolError(std::string what) {
  return absl::FailedPreconditionError(fmt::format(
      "the aggregator does not keep to the protocol: {} (are agent and aggregator of the same release?)", what));
}

RankSource BestRankSource(const SourceContext& context) {
  RankSource best = RankSource::kAssumed;
  for (const RankClaim& claim : context.claims) {
    best = std::min(best, claim.source);
  }
  return best;
}

}  // namespace

UplinkSession::UplinkSession(UplinkSessionOptions options)
    : options_(std::move(options)), window_(options_.window_batches, options_.window_bytes) {}

void UplinkSession::AddSource(const SourceContext& context) {
  const auto [place, added] = sources_.try_emplace(context.source_id);
  const SourceContext& known = place->second.context;
  // An equal copy of a file may tell its rank better, as by its name.
  const bool tells_more =
      !added && !place->second.refused && known.path != context.path && BestRankSource(context) < BestRankSource(known);
  if (added || tells_more || place->second.put_off) {
    place->second.context = context;
    place->second.put_off.reset();
    to_announce_.push_back(context.source_id);
  }
}

bool UplinkSession::SourceReady(const Hash128& source_id) const {
  const auto found = sources_.find(source_id);
  return found != sources_.end() && (found->second.known || found->second.refused || found->second.put_off);
}

absl::Status UplinkSession::PutOff(const Hash128& source_id) const {
  const auto found = sources_.find(source_id);
  if (found == sources_.end() || !found->second.put_off) {
    return absl::OkStatus();
  }
  absl::Status status = absl::ResourceExhaustedError(
      fmt::format("the aggregator does not take it now: {}", found->second.put_off->detail));
  SetRetryAfterMs(status, found->second.put_off->retry_after_ms);
  return status;
}

std::vector<RefusedUplinkSource> UplinkSession::put_off() const {
  std::vector<RefusedUplinkSource> sources;
  for (const auto& [id, source] : sources_) {
    if (source.put_off) {
      sources.push_back({id, source.context.path, source.put_off->reason, source.put_off->detail});
    }
  }
  return sources;
}

bool UplinkSession::Wants(const Hash128& source_id, int64_t sequence) const {
  LOCKSTEP_CHECK(sources_.contains(source_id));
  return NextWanted(source_id) == sequence;
}

std::optional<int64_t> UplinkSession::NextWanted(const Hash128& source_id) const {
  const auto found = sources_.find(source_id);
  if (found == sources_.end()) {
    return std::nullopt;
  }
  const Source& source = found->second;
  const bool wanted = source.known && !source.refused && !source.complete && !source.put_off;
  return wanted ? std::optional(source.given + 1) : std::nullopt;
}

void UplinkSession::Forget(const Hash128& source_id) {
  const auto found = sources_.find(source_id);
  if (found != sources_.end() && (found->second.complete || found->second.refused)) {
    SourceContext& context = found->second.context;
    context = SourceContext{.source_id = context.source_id, .path = context.path};
  }
}

void UplinkSession::Settle(const Hash128& source_id) {
  const auto found = sources_.find(source_id);
  if (found != sources_.end() && (found->second.complete || found->second.refused)) {
    std::erase(to_announce_, source_id);
    sources_.erase(found);
  }
}

absl::Status UplinkSession::AddBatch(OutgoingBatchPtr batch) {
  LOCKSTEP_CHECK(Wants(batch->source_id, batch->sequence));
  Source& source = sources_.at(batch->source_id);
  const auto bytes = static_cast<int64_t>(batch->body.size());
  if (max_message_bytes_ > 0 && bytes + kEnvelopeBytes > max_message_bytes_) {
    return absl::InvalidArgumentError(fmt::format("{}: batch {} has {} bytes, the aggregator takes {} a message",
                                                  source.context.path, batch->sequence, bytes, max_message_bytes_));
  }
  source.given = batch->sequence;
  window_.Push(std::move(batch));
  return absl::OkStatus();
}

void UplinkSession::AddNote(FileNote note) { notes_.push_back(std::move(note)); }

void UplinkSession::RequestDrain(bool finish_run) {
  drain_requested_ = true;
  finish_requested_ = finish_requested_ || finish_run;
}

void UplinkSession::OnConnected() { OnDisconnected(); }

void UplinkSession::OnDisconnected() {
  hello_sent_ = false;
  welcomed_ = false;
  notes_sent_ = 0;
  notes_stored_ = 0;
  offers_sent_ = 0;
  finish_sent_ = false;
  drain_sent_ = false;
  window_.Rewind();
  std::vector<Hash128> again;
  for (auto& [id, source] : sources_) {
    source.announced = false;
    source.welcomed = false;
    if (!source.complete && !source.refused && !source.put_off) {
      again.push_back(id);
    }
  }
  to_announce_ = std::move(again);
  notes_.insert(notes_.end(), notes_put_off_.begin(), notes_put_off_.end());
  notes_put_off_.clear();
}

std::optional<UplinkMessage> UplinkSession::NextMessage() {
  if (!hello_sent_) {
    hello_sent_ = true;
    UplinkHello hello = options_.hello;
    // Once taken in, a later stream must not throw away what this agent itself has sent.
    hello.replace = hello.replace && !ever_welcomed_;
    return hello;
  }
  if (!welcomed_) {
    return std::nullopt;
  }
  if (offers_sent_ < offers_.size()) {
    return offers_[offers_sent_++];
  }
  if (auto source = NextSource()) {
    return source;
  }
  if (notes_sent_ < notes_.size()) {
    return notes_[notes_sent_++];
  }
  if (auto batch = NextBatch()) {
    return batch;
  }
  return NextEnding();
}

std::optional<UplinkMessage> UplinkSession::NextSource() {
  if (to_announce_.empty()) {
    return std::nullopt;
  }
  Source& source = sources_.at(to_announce_.front());
  to_announce_.erase(to_announce_.begin());
  source.announced = true;
  return source.context;
}

std::optional<UplinkMessage> UplinkSession::NextBatch() {
  const OutgoingBatchPtr* next = window_.NextUnsent();
  if (next == nullptr || !sources_.at((*next)->source_id).welcomed) {
    return std::nullopt;
  }
  OutgoingBatchPtr batch = *next;
  window_.MarkSent();
  return batch;
}

std::optional<UplinkMessage> UplinkSession::NextEnding() {
  if (!drain_requested_ || drain_sent_ || !window_.all_sent()) {
    return std::nullopt;
  }
  if (finish_requested_ && !finish_sent_) {
    finish_sent_ = true;
    return FinishRun{};
  }
  drain_sent_ = true;
  return DrainRequest{};
}

absl::Status UplinkSession::OnEvent(const UplinkEvent& event) {
  return std::visit([this](const auto& what) { return On(what); }, event);
}

absl::Status UplinkSession::On(const WelcomeEvent& event) {
  if (event.protocol_version != kUplinkProtocolVersion) {
    return absl::FailedPreconditionError(
        fmt::format("the aggregator speaks protocol version {}, this agent {}: use releases that agree",
                    event.protocol_version, kUplinkProtocolVersion));
  }
  welcomed_ = true;
  ever_welcomed_ = true;
  max_message_bytes_ = event.max_message_bytes;
  if (event.store_start == 0) {
    offers_.clear();
  }
  if (options_.observer != nullptr) {
    options_.observer->OnWelcome(event.store_start);
  }
  if (event.window_batches > 0) {
    window_.SetMaxBatches(std::min(options_.window_batches, static_cast<size_t>(event.window_batches)));
  }
  return absl::OkStatus();
}

absl::StatusOr<UplinkSession::Source*> UplinkSession::Find(const Hash128& source_id, const char* what) {
  const auto found = sources_.find(source_id);
  if (found == sources_.end()) {
    return ProtocolError(fmt::format("it sent {} for source {}, which was never announced", what, source_id.Hex()));
  }
  return &found->second;
}

absl::Status UplinkSession::On(const SourceWelcomeEvent& event) {
  LOCKSTEP_ASSIGN_OR_RETURN(Source * source, Find(event.source_id, "a welcome"));
  if (!event.complete && event.last_sequence < source->acknowledged && options_.can_begin_anew) {
    window_.Forget(event.source_id);
    source->acknowledged = source->given = event.last_sequence;
  }
  if (!event.complete && event.last_sequence < source->acknowledged) {
    return absl::DataLossError(fmt::format(
        "{}: the aggregator has batches up to {}, but acknowledged {} before: its run was dropped or its store "
        "replaced; start this agent again",
        source->context.path, event.last_sequence, source->acknowledged));
  }
  source->known = true;
  source->welcomed = true;
  source->given = std::max(source->given, event.last_sequence);
  Acknowledge(*source, event.last_sequence, event.complete);
  return absl::OkStatus();
}

absl::Status UplinkSession::On(const AckEvent& event) {
  LOCKSTEP_ASSIGN_OR_RETURN(Source * source, Find(event.source_id, "an acknowledgement"));
  if (event.sequence > source->given) {
    return ProtocolError(
        fmt::format("it acknowledged batch {} of {}, which was never sent", event.sequence, source->context.path));
  }
  Acknowledge(*source, event.sequence, event.complete);
  return absl::OkStatus();
}

void UplinkSession::Acknowledge(Source& source, int64_t sequence, bool complete) {
  source.acknowledged = std::max(source.acknowledged, sequence);
  source.complete = source.complete || complete;
  acknowledged_batches_ += static_cast<int64_t>(window_.Acknowledge(source.context.source_id, sequence));
  if (options_.observer != nullptr) {
    options_.observer->OnAcknowledged(source.context.source_id, sequence, complete);
  }
}

absl::Status UplinkSession::On(const FilesStoredEvent& event) {
  const int64_t more = event.count - notes_stored_;
  if (more < 0 || more > static_cast<int64_t>(notes_sent_)) {
    return ProtocolError(fmt::format("it stored {} file notes, {} were sent", event.count,
                                     notes_stored_ + static_cast<int64_t>(notes_sent_)));
  }
  notes_stored_ = event.count;
  notes_sent_ -= static_cast<size_t>(more);
  for (int64_t i = 0; i < more; ++i) {
    if (options_.observer != nullptr) {
      options_.observer->OnNoteStored(FileNoteId(notes_.front()));
    }
    notes_.pop_front();
  }
  if (event.retry_after_ms > 0 && notes_sent_ > 0) {
    --notes_sent_;
    notes_put_off_.push_back(std::move(notes_.front()));
    notes_.pop_front();
  }
  return absl::OkStatus();
}

absl::Status UplinkSession::On(const LackingEvent& event) {
  if (offers_sent_ == 0) {
    return ProtocolError("it answered an offer that was not made");
  }
  --offers_sent_;
  offers_.pop_front();
  if (options_.observer != nullptr) {
    options_.observer->OnLacking(event.ids, offers_.size());
  }
  return absl::OkStatus();
}

absl::Status UplinkSession::On(const DrainedEvent&) {
  if (!drain_sent_ || !window_.empty()) {
    return ProtocolError(fmt::format("it says drained while {} batches are not acknowledged", window_.size()));
  }
  drained_ = true;
  return absl::OkStatus();
}

absl::Status UplinkSession::On(const RefusalEvent& event) {
  LOCKSTEP_ASSIGN_OR_RETURN(Source * source, Find(event.source_id, "a refusal"));
  if (event.retry_after_ms > 0) {
    PutOff(*source, event);
    return absl::OkStatus();
  }
  if (!source->refused) {
    source->refused = true;
    refused_.push_back({event.source_id, source->context.path, event.reason, event.detail});
    if (options_.observer != nullptr) {
      options_.observer->OnRefused(event.source_id);
    }
  }
  window_.Forget(event.source_id);
  return absl::OkStatus();
}

void UplinkSession::PutOff(Source& source, const RefusalEvent& event) {
  source.put_off = event;
  source.known = false;
  source.welcomed = false;
  source.given = source.acknowledged;
  window_.Forget(event.source_id);
}

}  // namespace lockstep
