// A transport that counts what passes through another one: connections, batches, acknowledgements, refusals, notes
// about files. Needs nothing of the session or the spool. Names, units and meaning: docs/operations.md.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "agent/uplink/transport.h"
#include "platform/metrics_registry.h"
#include "platform/mutex.h"

namespace lockstep {

// Thread safe: the streams of one transport write, the registry reads. Outlives the streams and the registry's last
// text.
class UplinkMetrics {
 public:
  // The registry must outlive this.
  explicit UplinkMetrics(MetricsRegistry& registry);

  void OnConnecting() { attempts_.Add(); }
  void OnWritten(const UplinkMessage& message) LOCKSTEP_EXCLUDES(mutex_);
  void OnEvent(const UplinkEvent& event) LOCKSTEP_EXCLUDES(mutex_);
  // Of what was written on the stream nothing more will be answered.
  void OnStreamOver() LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] bool connected() const LOCKSTEP_EXCLUDES(mutex_);

 private:
  void On(const AckEvent& ack) LOCKSTEP_REQUIRES(mutex_);
  void On(const FilesStoredEvent& files) LOCKSTEP_REQUIRES(mutex_);
  void CountNote(const FileNote& note) LOCKSTEP_REQUIRES(mutex_);
  [[nodiscard]] int64_t Waiting() const LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] double OldestSeconds() const LOCKSTEP_EXCLUDES(mutex_);

  MetricCounter& attempts_;
  MetricCounter& connections_;
  MetricCounter& batches_;
  MetricCounter& bytes_;
  MetricCounter& acks_;
  MetricCounter& refused_;
  MetricCounter& put_off_;
  std::map<std::string, MetricCounter*> files_;  // by status
  std::map<std::string, MetricCounter*> drops_;  // by reason

  mutable Mutex mutex_;
  bool connected_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  // Of the present stream, not answered: when each batch was written, and the notes in order.
  std::map<Hash128, std::map<int64_t, int64_t>> waiting_ LOCKSTEP_GUARDED_BY(mutex_);
  std::deque<FileNote> notes_ LOCKSTEP_GUARDED_BY(mutex_);
  size_t notes_stored_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
};

// The metrics must outlive the transport and its streams.
[[nodiscard]] std::unique_ptr<UplinkTransport> Measured(std::unique_ptr<UplinkTransport> transport,
                                                        UplinkMetrics& metrics);

}  // namespace lockstep
