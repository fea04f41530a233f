#include "aggregator/ingest/ingest_log.h"

#include <string>
#include <variant>

#include "platform/clock.h"
#include "platform/log.h"

namespace lockstep {

void IngestLog::OnReply(const IngestSession& session, const IngestReply& reply) {
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

void IngestLog::OnEnd(const IngestSession& session, const absl::Status& status) {
  if (metrics_ != nullptr) {
    metrics_->OnEndedStream(absl::StatusCodeToString(status.code()));
  }
  if (absl::IsResourceExhausted(status) && !MayTellLimit()) {
    return;
  }
  LogWarning("stream of agent '{}' for run '{}' ended: {}", session.agent(), session.run(),
             std::string(status.message()));
}

bool IngestLog::MayTellLimit() {
  const MutexLock lock(mutex_);
  return limited_.Met(SystemClock().MonotonicNs());
}

}  // namespace lockstep
