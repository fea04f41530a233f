// What people are told of agents' streams: refusals and ends, calmly, and as figures. Thread safe.
#pragma once

#include <absl/status/status.h>

#include "aggregator/ingest/ingest_session.h"
#include "platform/mutex.h"
#include "platform/outage.h"

namespace lockstep {

class IngestLog {
 public:
  // `metrics` may be null; outlives this.
  explicit IngestLog(IngestMetrics* metrics) : metrics_(metrics) {}

  // What waits because of a limit comes again and again: told now and then.
  void OnReply(const IngestSession& session, const IngestReply& reply) LOCKSTEP_EXCLUDES(mutex_);
  // A stream that ends with an error.
  void OnEnd(const IngestSession& session, const absl::Status& status) LOCKSTEP_EXCLUDES(mutex_);

 private:
  bool MayTellLimit() LOCKSTEP_EXCLUDES(mutex_);

  IngestMetrics* const metrics_;
  Mutex mutex_;
  Outage limited_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
