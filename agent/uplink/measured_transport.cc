#include "agent/uplink/measured_transport.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "analysis/model/drop_reason.h"
#include "platform/clock.h"

namespace lockstep {
namespace {

class MeasuredStream : public UplinkStream {
 public:
  MeasuredStream(std::unique_ptr<UplinkStream> stream, UplinkMetrics& metrics)
      : stream_(std::move(stream)), metrics_(metrics) {}

  bool Write(const UplinkMessage& message) override {
    metrics_.OnWritten(message);  // before: its answer may be there before the call returns
    return stream_->Write(message);
  }
  std::optional<UplinkEvent> Read() override {
    std::optional<UplinkEvent> event = stream_->Read();
    if (event) metrics_.OnEvent(*event);
    return event;
  }
  void CloseWrites() override { stream_->CloseWrites(); }
  absl::Status Finish() override {
    metrics_.OnStreamOver();
    return stream_->Finish();
  }
  void Cancel() override { stream_->Cancel(); }

 private:
  const std::unique_ptr<UplinkStream> stream_;
  UplinkMetrics& metrics_;
};

class MeasuredTransport : public UplinkTransport {
 public:
  MeasuredTransport(std::unique_ptr<UplinkTransport> transport, UplinkMetrics& metrics)
      : transport_(std::move(transport)), metrics_(metrics) {}

  std::unique_ptr<UplinkStream> Open() override {
    metrics_.OnConnecting();
    return std::make_unique<MeasuredStream>(transport_->Open(), metrics_);
  }

 private:
  const std::unique_ptr<UplinkTransport> transport_;
  UplinkMetrics& metrics_;
};

}  // namespace

UplinkMetrics::UplinkMetrics(MetricsRegistry& registry)
    : attempts_(registry.AddCounter("lockstep_agent_connection_attempts_total", "Streams that were begun.")),
      connections_(registry.AddCounter("lockstep_agent_connections_total",
                                       "Streams that the aggregator welcomed; all but the first are reconnects.")),
      batches_(registry.AddCounter("lockstep_agent_batches_sent_total",
                                   "Batches written to a stream, those sent again included.")),
      bytes_(registry.AddCounter("lockstep_agent_batch_bytes_sent_total", "Bytes of these batches.")),
      acks_(registry.AddCounter("lockstep_agent_batches_acknowledged_total",
                                "Batches that the aggregator said are durable, of those sent on the same stream.")),
      refused_(registry.AddCounter("lockstep_agent_refused_sources_total", "Sources that the aggregator refused.")),
      put_off_(registry.AddCounter("lockstep_agent_put_off_sources_total",
                                   "Times that the aggregator put a source off because of a limit.")) {
  for (const char* status : {"used", "partial", "skipped", "refused"}) {
    files_[status] = &registry.AddCounter("lockstep_agent_files_total",
                                          "Input files whose fate the aggregator has stored, by what became of them.",
                                          {{"status", status}});
  }
  for (const std::string_view reason : kDropReasonNames) {
    drops_[std::string(reason)] = &registry.AddCounter(
        "lockstep_agent_dropped_records_total", "Records of these files that were dropped or repaired, by reason.",
        {{"reason", std::string(reason)}});
  }
  registry.AddGauge("lockstep_agent_connected", "1 while the aggregator has welcomed the present stream.",
                    [this] { return connected() ? 1.0 : 0.0; });
  registry.AddGauge("lockstep_agent_unacknowledged_batches", "Batches sent on the present stream and not answered.",
                    [this] { return static_cast<double>(Waiting()); });
  registry.AddGauge("lockstep_agent_lag_seconds", "Age of the oldest of them; 0 = there is none.",
                    [this] { return OldestSeconds(); });
}

bool UplinkMetrics::connected() const {
  const MutexLock lock(mutex_);
  return connected_;
}

void UplinkMetrics::OnWritten(const UplinkMessage& message) {
  const MutexLock lock(mutex_);
  if (const auto* batch = std::get_if<OutgoingBatchPtr>(&message)) {
    batches_.Add();
    bytes_.Add(static_cast<int64_t>((*batch)->body.size()));
    waiting_[(*batch)->source_id][(*batch)->sequence] = SystemClock().MonotonicNs();
  } else if (const auto* note = std::get_if<FileNote>(&message)) {
    notes_.push_back(*note);
  }
}

void UplinkMetrics::OnEvent(const UplinkEvent& event) {
  const MutexLock lock(mutex_);
  if (std::holds_alternative<WelcomeEvent>(event)) {
    connected_ = true;
    connections_.Add();
  } else if (const auto* ack = std::get_if<AckEvent>(&event)) {
    On(*ack);
  } else if (const auto* files = std::get_if<FilesStoredEvent>(&event)) {
    On(*files);
  } else if (const auto* refusal = std::get_if<RefusalEvent>(&event)) {
    (refusal->retry_after_ms > 0 ? put_off_ : refused_).Add();
    waiting_.erase(refusal->source_id);
  }
}

void UplinkMetrics::On(const AckEvent& ack) {
  const auto found = waiting_.find(ack.source_id);
  if (found == waiting_.end()) return;
  std::map<int64_t, int64_t>& batches = found->second;
  while (!batches.empty() && batches.begin()->first <= ack.sequence) {
    acks_.Add();
    batches.erase(batches.begin());
  }
  if (batches.empty()) waiting_.erase(found);
}

void UplinkMetrics::On(const FilesStoredEvent& files) {
  // Said of all notes of the stream; the stored ones are forgotten.
  while (static_cast<int64_t>(notes_stored_) < files.count && !notes_.empty()) {
    CountNote(notes_.front());
    notes_.pop_front();
    ++notes_stored_;
  }
  if (files.retry_after_ms > 0 && !notes_.empty()) {
    notes_.pop_front();  // it is said again on a later stream
  }
}

void UplinkMetrics::CountNote(const FileNote& note) {
  if (const auto file = files_.find(note.status); file != files_.end()) file->second->Add();
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    drops_.at(std::string(kDropReasonNames[i]))->Add(note.drops.count[i]);
  }
}

void UplinkMetrics::OnStreamOver() {
  const MutexLock lock(mutex_);
  connected_ = false;
  waiting_.clear();
  notes_.clear();
  notes_stored_ = 0;
}

int64_t UplinkMetrics::Waiting() const {
  const MutexLock lock(mutex_);
  int64_t waiting = 0;
  for (const auto& [source, batches] : waiting_) waiting += static_cast<int64_t>(batches.size());
  return waiting;
}

double UplinkMetrics::OldestSeconds() const {
  const MutexLock lock(mutex_);
  const int64_t now_ns = SystemClock().MonotonicNs();
  int64_t oldest_ns = now_ns;
  for (const auto& [source, batches] : waiting_) {
    if (!batches.empty()) oldest_ns = std::min(oldest_ns, batches.begin()->second);
  }
  return static_cast<double>(now_ns - oldest_ns) * 1e-9;
}

std::unique_ptr<UplinkTransport> Measured(std::unique_ptr<UplinkTransport> transport, UplinkMetrics& metrics) {
  return std::make_unique<MeasuredTransport>(std::move(transport), metrics);
}

}  // namespace lockstep
