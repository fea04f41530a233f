#include "aggregator/grpc/agent_stream.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <utility>

#include "aggregator/grpc/ingest_messages.h"
#include "analysis/base/status_macros.h"
#include "platform/clock.h"

namespace lockstep {

AgentStream::AgentStream(const AgentStreams& streams, grpc::CallbackServerContext& context)
    : streams_(streams),
      admission_(*streams.environment.admission),
      context_(context),
      pass_(streams.guard.gate()),
      pacer_(streams.environment.limits) {
  const grpc::Status admitted = Admitted();
  if (admitted.ok()) {
    session_.emplace(streams.environment);
    ReadWhenTime();
  } else {
    Finish(admitted);
  }
}

grpc::Status AgentStream::Admitted() {
  if (!pass_) {
    return CallGuard::GoingDown(context_);
  }
  if (const absl::Status allowed = streams_.guard.Allow(context_, Action::kIngest, std::nullopt); !allowed.ok()) {
    return ToGrpc(allowed);
  }
  stream_pass_.emplace(admission_);
  if (!*stream_pass_) {
    return CallGuard::WithRetryHint(context_, admission_.TooManyStreams());
  }
  if (streams_.environment.metrics != nullptr) {
    streams_.environment.metrics->OnStream();
  }
  return grpc::Status::OK;
}

void AgentStream::ReadWhenTime() {
  const int64_t early_ns = pacer_.EarlyNs(SystemClock().MonotonicNs());
  if (early_ns == 0) {
    return ReadWhenRoom();
  }
  const auto when = std::chrono::system_clock::now() + std::chrono::nanoseconds(early_ns);
  alarm_.Set(std::chrono::time_point_cast<std::chrono::system_clock::duration>(when),
             [this](bool /*expired*/) { ReadWhenRoom(); });
}

void AgentStream::ReadWhenRoom() {
  admission_.WhenRoom([this] { Read(); });
}

void AgentStream::Read() {
  if (admission_.closed().stop_requested()) {
    return EndWith(CallGuard::GoingDown(context_));
  }
  StartRead(&request_);
}

void AgentStream::OnReadDone(bool ok) {
  if (!ok) {
    return End();
  }
  arrived_ns_ = SystemClock().MonotonicNs();
  // With what the library keeps of fields that it does not know.
  hold_ = std::make_unique<Admission::Hold>(admission_, static_cast<int64_t>(request_.SpaceUsedLong()));
  if (*hold_) {
    Lane().Post([this] { Answer(); });
    return;
  }
  request_ = v1::IngestRequest();  // or else those that wait to be told would hold as much as they like
  streams_.log.OnEnd(*session_, admission_.TooManyBytes());
  EndWith(CallGuard::WithRetryHint(context_, admission_.TooManyBytes()));
}

TaskThreads& AgentStream::Lane() const {
  if (request_.has_batch()) {
    return streams_.answering.batches;
  }
  const bool whole_run = request_.has_hello() || request_.has_finish() || request_.has_drain();
  return whole_run ? streams_.answering.runs : streams_.answering.announced;
}

void AgentStream::Answer() {
  drained_ = request_.has_drain();
  const absl::StatusOr<IngestReply> reply = SafeReply();
  // Neither a stream whose agent does not read nor an idle one keeps a message. Clearing it would leave room in it.
  request_ = v1::IngestRequest();
  const std::unique_ptr<Admission::Hold> hold = std::move(hold_);  // given back last: others begin to read then
  if (!reply.ok()) {
    streams_.log.OnEnd(*session_, reply.status());
    return EndWith(CallGuard::WithRetryHint(context_, reply.status()));
  }
  streams_.log.OnReply(*session_, *reply);
  if (!Fill(*reply, response_)) {
    return ReadWhenTime();
  }
  StartWrite(&response_);
}

void AgentStream::OnWriteDone(bool /*ok*/) {
  response_.Clear();
  ReadWhenTime();  // a broken stream shows at the next read
}

// A message that is more than the memory there is ends its stream, not the aggregator.
absl::StatusOr<IngestReply> AgentStream::SafeReply() {
  try {
    absl::StatusOr<IngestReply> reply = ReplyTo(request_);
    if (streams_.environment.metrics != nullptr && request_.has_batch()) {
      streams_.environment.metrics->OnAnswered(SystemClock().MonotonicNs() - arrived_ns_);
    }
    return reply;
  } catch (const std::exception& error) {
    return absl::InternalError(fmt::format("a message could not be answered: {}", error.what()));
  }
}

// Asks for every message: a token that was taken back must not go on on an open stream.
absl::StatusOr<IngestReply> AgentStream::ReplyTo(const v1::IngestRequest& request) {
  const bool is_hello = request.has_hello();
  const Action action = is_hello && request.hello().replace() ? Action::kReplace : Action::kIngest;
  LOCKSTEP_RETURN_IF_ERROR(streams_.guard.Allow(context_, action, is_hello ? request.hello().run() : session_->run()));
  LOCKSTEP_ASSIGN_OR_RETURN(const IngestMessage message, MessageOf(request));
  return session_->On(message);
}

void AgentStream::End() {
  if (admission_.closed().stop_requested()) {
    return EndWith(CallGuard::GoingDown(context_));
  }
  // The library tells of a message that cannot be read no more than of the end.
  if (drained_ || context_.IsCancelled()) {
    return EndWith(grpc::Status::OK);
  }
  EndWith(ToGrpc(absl::InvalidArgumentError(
      fmt::format("the stream ended without a drain, or with a message that is no IngestRequest of at most {} bytes",
                  streams_.environment.limits.max_message_bytes))));
}

void AgentStream::EndWith(const grpc::Status& status) {
  streams_.answering.runs.Post([this, status] {
    session_.reset();
    stream_pass_.reset();
    Finish(status);
  });
}

}  // namespace lockstep
