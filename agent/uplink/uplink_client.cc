#include "agent/uplink/uplink_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/uplink/retry_hint.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "platform/log.h"

namespace lockstep {
namespace {

// A stream that lived this long was a good one, even if nothing was acknowledged on it.
constexpr int64_t kSteadyNs = 10 * kNsPerS;

// Codes that say "not now". Everything else would be answered the same way again.
bool IsTransient(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:  // the aggregator closed the stream before it was drained: it goes down in order
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:  // its disk is full, or it has enough to do
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

// A token or a certificate is missing, wrong or out of date: somebody may mend that while an agent that never gives up
// waits.
bool IsRefused(absl::StatusCode code) {
  return code == absl::StatusCode::kUnauthenticated || code == absl::StatusCode::kPermissionDenied;
}

}  // namespace

UplinkClient::UplinkClient(std::unique_ptr<UplinkTransport> transport, UplinkClientOptions options,
                           std::stop_token stop)
    : transport_(std::move(transport)),
      options_(std::move(options)),
      back_off_(options_.back_off, options_.random),
      session_(options_.session),
      trouble_since_ns_(options_.clock->MonotonicNs()),
      runner_([this] { Run(); }) {
  on_stop_.emplace(std::move(stop), [this] { Stop(); });
}

UplinkClient::~UplinkClient() {
  on_stop_.reset();
  Stop();
  runner_.join();
}

void UplinkClient::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  if (failure_.ok() && !session_.drained()) {
    failure_ = absl::CancelledError("stopped before everything was sent");
  }
  if (stream_ != nullptr) {
    stream_->Cancel();
  }
  changed_.NotifyAll();
}

void UplinkClient::Fail(absl::Status status) {
  if (failure_.ok()) {
    failure_ = std::move(status);
  }
  changed_.NotifyAll();
}

absl::Status UplinkClient::BeginSource(const SourceContext& context) {
  const MutexLock lock(mutex_);
  session_.AddSource(context);
  changed_.NotifyAll();
  while (failure_.ok() && !session_.SourceReady(context.source_id)) {
    changed_.Wait(mutex_);
  }
  LOCKSTEP_RETURN_IF_ERROR(failure_);
  return session_.PutOff(context.source_id);
}

bool UplinkClient::Wants(const Hash128& source_id, int64_t sequence) {
  const MutexLock lock(mutex_);
  return session_.Wants(source_id, sequence) || !session_.PutOff(source_id).ok();  // then its Push says why
}

absl::Status UplinkClient::Push(OutgoingBatch batch) {
  const auto shared = std::make_shared<const OutgoingBatch>(std::move(batch));
  const MutexLock lock(mutex_);
  while (failure_.ok() && session_.Wants(shared->source_id, shared->sequence) && !session_.HasRoom()) {
    changed_.Wait(mutex_);
  }
  LOCKSTEP_RETURN_IF_ERROR(failure_);
  LOCKSTEP_RETURN_IF_ERROR(session_.PutOff(shared->source_id));
  if (session_.Wants(shared->source_id, shared->sequence)) {
    LOCKSTEP_RETURN_IF_ERROR(session_.AddBatch(shared));
    changed_.NotifyAll();
  }
  return absl::OkStatus();
}

absl::Status UplinkClient::AddNote(FileNote note) {
  const MutexLock lock(mutex_);
  session_.AddNote(std::move(note));
  changed_.NotifyAll();
  return failure_;
}

std::optional<int64_t> UplinkClient::NextWanted(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  return session_.NextWanted(source_id);
}

absl::Status UplinkClient::PutOff(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  return session_.PutOff(source_id);
}

size_t UplinkClient::notes_put_off() {
  const MutexLock lock(mutex_);
  return session_.notes_put_off();
}

void UplinkClient::Forget(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  session_.Forget(source_id);
}

void UplinkClient::Settle(const Hash128& source_id) {
  const MutexLock lock(mutex_);
  session_.Settle(source_id);
}

void UplinkClient::Offer(std::vector<UplinkOffer> offers) {
  const MutexLock lock(mutex_);
  for (UplinkOffer& offer : offers) {
    session_.AddOffer(std::move(offer));
  }
  changed_.NotifyAll();
}

absl::Status UplinkClient::failure() {
  const MutexLock lock(mutex_);
  return failure_;
}

absl::StatusOr<UplinkSummary> UplinkClient::Drain(bool finish_run, std::optional<int64_t> within_ns) {
  const MutexLock lock(mutex_);
  session_.RequestDrain(finish_run);
  changed_.NotifyAll();
  LOCKSTEP_RETURN_IF_ERROR(WaitUntilDrained(within_ns));
  return UplinkSummary{.refused = session_.refused(),
                       .put_off = session_.put_off(),
                       .acknowledged_batches = session_.acknowledged_batches(),
                       .streams = streams_};
}

absl::Status UplinkClient::WaitUntilDrained(std::optional<int64_t> within_ns) {
  const int64_t begin_ns = SystemClock().MonotonicNs();
  while (failure_.ok() && !session_.drained()) {
    if (!within_ns) {
      changed_.Wait(mutex_);
      continue;
    }
    const int64_t left_ns = *within_ns - (SystemClock().MonotonicNs() - begin_ns);
    if (left_ns <= 0) {
      return absl::DeadlineExceededError(
          "the aggregator did not take everything in time; start the agent again to resume");
    }
    changed_.WaitFor(mutex_, left_ns);
  }
  return failure_;
}

void UplinkClient::Run() {
  while (true) {
    const absl::Status ended = RunStream();
    {
      const MutexLock lock(mutex_);
      if (session_.drained() || !failure_.ok()) {
        return;
      }
    }
    if (!WorthAnotherTry(ended)) {
      return;
    }
    WaitBeforeRetry(ended);
  }
}

absl::Status UplinkClient::RunStream() {
  const std::shared_ptr<UplinkStream> stream = transport_->Open();
  {
    const MutexLock lock(mutex_);
    if (stopped_) {
      stream->Cancel();
    }
    stream_ = stream;
    stream_over_ = false;
    heard_ = false;
    opened_ns_ = options_.clock->MonotonicNs();
    acknowledged_before_ = session_.acknowledged_batches();
    event_error_ = absl::OkStatus();
    session_.OnConnected();
  }
  std::thread reader([this, &stream] { ReadEvents(*stream); });
  WriteMessages(*stream);
  reader.join();
  const absl::Status ended = stream->Finish();
  const MutexLock lock(mutex_);
  stream_ = nullptr;
  session_.OnDisconnected();
  return event_error_.ok() ? ended : event_error_;
}

void UplinkClient::ReadEvents(UplinkStream& stream) {
  while (auto event = stream.Read()) {
    const MutexLock lock(mutex_);
    if (!std::exchange(heard_, true)) {
      ++streams_;
      TellIfBack();
    }
    if (event_error_.ok()) {
      event_error_ = session_.OnEvent(*event);
    }
    if (!event_error_.ok()) {
      stream.Cancel();
    }
    changed_.NotifyAll();
  }
  const MutexLock lock(mutex_);
  stream_over_ = true;
  changed_.NotifyAll();
}

void UplinkClient::WriteMessages(UplinkStream& stream) {
  while (true) {
    std::optional<UplinkMessage> message;
    {
      const MutexLock lock(mutex_);
      while (!stream_over_ && !stopped_ && !session_.drained() && !(message = session_.NextMessage())) {
        changed_.Wait(mutex_);
      }
    }
    if (!message) {
      stream.CloseWrites();
      return;
    }
    if (!stream.Write(*message)) {
      return;  // the reader sees the end of the stream
    }
  }
}

bool UplinkClient::WorthAnotherTry(const absl::Status& failure) {
  const MutexLock lock(mutex_);
  if (!event_error_.ok() ||
      !(IsTransient(failure.code()) || (!options_.give_up_after_ns && IsRefused(failure.code())))) {
    Fail(failure);
    return false;
  }
  const int64_t now_ns = options_.clock->MonotonicNs();
  if (heard_ && (session_.acknowledged_batches() > acknowledged_before_ || now_ns - opened_ns_ >= kSteadyNs)) {
    trouble_since_ns_ = now_ns;
    back_off_.Reset();
  }
  const int64_t trouble_ns = now_ns - trouble_since_ns_;
  if (options_.give_up_after_ns && trouble_ns >= *options_.give_up_after_ns) {
    Fail(absl::UnavailableError(fmt::format("the aggregator did not accept the traces for {} s, giving up: {}",
                                            trouble_ns / kNsPerS, std::string(failure.message()))));
    return false;
  }
  return true;
}

void UplinkClient::WaitBeforeRetry(const absl::Status& failure) {
  int64_t delay_ns = back_off_.NextDelayNs();
  if (const int64_t asked_ns = RetryAfterNs(failure); asked_ns > 0) {
    delay_ns = std::max(delay_ns, Spread(asked_ns, options_.random()));
  }
  // Real time, whatever clock judges the silence: this only paces the attempts.
  const int64_t now_ns = SystemClock().MonotonicNs();
  const int64_t end_ns = now_ns + delay_ns;
  const MutexLock lock(mutex_);
  if (!stopped_ && outage_.Met(now_ns)) {
    LogInfo("there is no stream to the aggregator ({}); trying again", std::string(failure.message()));
  }
  for (int64_t left_ns = delay_ns; !stopped_ && left_ns > 0; left_ns = end_ns - SystemClock().MonotonicNs()) {
    changed_.WaitFor(mutex_, left_ns);
  }
}

void UplinkClient::TellIfBack() {
  if (const auto lasted_ns = outage_.Over(SystemClock().MonotonicNs())) {
    LogInfo("the aggregator is back after {} s", *lasted_ns / kNsPerS);
  }
}

}  // namespace lockstep
