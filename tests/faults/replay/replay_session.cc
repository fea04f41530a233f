#include "tests/faults/replay/replay_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

// So far ahead of what is stored that an agent beside cannot have come there meanwhile.
constexpr int64_t kFarAhead = 8;

absl::Status Against(std::string what) { return absl::DataLossError("against the contract: " + what); }

absl::Status Broken() { return absl::UnavailableError("the aggregator closed the stream"); }

}  // namespace

absl::Status ReplaySession::Run(UplinkTransport& transport) {
  ++counts_.streams;
  known_.clear();
  stream_ = transport.Open();
  absl::Status status = Open();
  std::vector<const RecordedSource*> order;
  for (const RecordedSource& source : files_.sources) {
    order.push_back(&source);
  }
  std::shuffle(order.begin(), order.end(), random_);
  for (const RecordedSource* source : order) {
    status = status.ok() ? Announce(*source) : status;
  }
  for (const RecordedSource* source : order) {
    status = status.ok() ? SendSome(*source) : status;
  }
  status = status.ok() ? SendNotes() : status;
  stream_->Cancel();
  while (stream_->Read()) {
  }
  stream_->Finish().IgnoreError();
  return status;
}

bool ReplaySession::all_complete() const {
  return drained_ && std::all_of(known_.begin(), known_.end(), [](const auto& each) { return each.second.complete; });
}

template <typename Event>
absl::StatusOr<Event> ReplaySession::Expect(const char* what) {
  const std::optional<UplinkEvent> event = stream_->Read();
  if (!event) {
    return absl::UnavailableError(fmt::format("the stream ended before {} came", what));
  }
  const Event* const wanted = std::get_if<Event>(&*event);
  if (const auto* refusal = std::get_if<RefusalEvent>(&*event); refusal != nullptr && wanted == nullptr) {
    return Against(fmt::format("expected {}, it refused: {}: {}", what, refusal->reason, refusal->detail));
  }
  return wanted != nullptr ? absl::StatusOr<Event>(*wanted) : Against(fmt::format("expected {}, got another", what));
}

absl::Status ReplaySession::Open() {
  if (!stream_->Write(UplinkHello{.run = run_, .agent = "replay", .agent_version = "replay"})) {
    return Broken();
  }
  return Expect<WelcomeEvent>("a welcome").status();
}

absl::Status ReplaySession::Announce(const RecordedSource& source) {
  // Twice now and then: to announce is no promise.
  for (int64_t times = 1 + Draw(2); times > 0; --times) {
    if (!stream_->Write(source.context)) {
      return Broken();
    }
    LOCKSTEP_ASSIGN_OR_RETURN(const auto welcome, Expect<SourceWelcomeEvent>("the welcome of a source"));
    if (welcome.source_id != source.context.source_id) {
      return Against("the welcome of another source");
    }
    known_[source.context.source_id] = {.stored = welcome.last_sequence, .complete = welcome.complete};
  }
  return absl::OkStatus();
}

absl::Status ReplaySession::SendSome(const RecordedSource& source) {
  Known& known = known_[source.context.source_id];
  for (int64_t turn = 4 + Draw(12); turn > 0; --turn) {
    const int64_t way = Draw(40);
    if (way == 0 && static_cast<int64_t>(source.batches.size()) > known.stored + kFarAhead) {
      return LeaveHole(source);
    }
    if (way == 1) {
      ++counts_.abandoned;
      return absl::CancelledError("abandoned on purpose");
    }
    if (way < 20 && !stored_only_ && !known.complete) {
      LOCKSTEP_RETURN_IF_ERROR(GoOn(source));
    } else if (known.stored >= 0) {
      LOCKSTEP_RETURN_IF_ERROR(Repeat(source, Draw(known.stored + 1)));
    }
  }
  return absl::OkStatus();
}

absl::Status ReplaySession::Exchange(const RecordedSource& source, int64_t sequence) {
  Known& known = known_[source.context.source_id];
  if (!stream_->Write(source.batches.at(static_cast<size_t>(sequence)))) {
    return Broken();
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const auto ack, Expect<AckEvent>("an acknowledgement"));
  if (ack.source_id != source.context.source_id || ack.sequence < sequence) {
    return Against(
        fmt::format("batch {} is acknowledged as {}, {} was stored before", sequence, ack.sequence, known.stored));
  }
  known.stored = std::max(known.stored, ack.sequence);
  known.complete = known.complete || ack.complete;
  return absl::OkStatus();
}

absl::Status ReplaySession::Repeat(const RecordedSource& source, int64_t sequence) {
  ++counts_.repeated;
  return Exchange(source, sequence);
}

absl::Status ReplaySession::GoOn(const RecordedSource& source) {
  const int64_t next = known_[source.context.source_id].stored + 1;
  if (next >= static_cast<int64_t>(source.batches.size())) {
    return absl::OkStatus();
  }
  ++counts_.new_batches;
  return Exchange(source, next);
}

absl::Status ReplaySession::LeaveHole(const RecordedSource& source) {
  const int64_t first = known_[source.context.source_id].stored + kFarAhead;
  const int64_t sequence = first + Draw(static_cast<int64_t>(source.batches.size()) - first);
  ++counts_.holes;
  if (!stream_->Write(source.batches.at(static_cast<size_t>(sequence)))) {
    return Broken();
  }
  const std::optional<UplinkEvent> event = stream_->Read();
  if (event && std::holds_alternative<AckEvent>(*event) && std::get<AckEvent>(*event).sequence >= sequence) {
    return Against(fmt::format("batch {} is acknowledged, {} was stored before", sequence, first - kFarAhead));
  }
  return absl::CancelledError("a hole ends the stream");
}

absl::Status ReplaySession::SendNotes() {
  if (!stored_only_) {
    int64_t stored = 0;
    for (const FileNote& note : files_.notes) {
      for (int64_t times = 1 + Draw(2); times > 0; --times) {
        if (!stream_->Write(note)) {
          return Broken();
        }
        LOCKSTEP_ASSIGN_OR_RETURN(const auto files, Expect<FilesStoredEvent>("that a note is stored"));
        if (files.count != ++stored) {
          return Against(fmt::format("{} notes were sent, {} are told to be stored", stored, files.count));
        }
      }
    }
  }
  if (!stream_->Write(DrainRequest{})) {
    return Broken();
  }
  LOCKSTEP_RETURN_IF_ERROR(Expect<DrainedEvent>("that all is drained").status());
  drained_ = true;
  return absl::OkStatus();
}

}  // namespace lockstep
