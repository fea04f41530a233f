// How fast one stream is read: a bucket of tokens, one a message, filled at the allowed rate. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "aggregator/ingest/ingest_limits.h"
#include "analysis/base/time.h"

namespace lockstep {

class MessagePacer {
 public:
  // Starts full: a second's worth of messages may come at once.
  explicit MessagePacer(const IngestLimits& limits) : rate_(limits.max_messages_per_s) {}

  // Takes a token for the next message at time `now_ns` (monotonic): how long to wait before reading it, 0 = not at
  // all.
  int64_t EarlyNs(int64_t now_ns) {
    const int64_t step_ns = kNsPerS / rate_;
    next_ns_ = std::max(next_ns_, now_ns - kNsPerS) + step_ns;
    return std::max<int64_t>(next_ns_ - now_ns, 0);
  }

 private:
  const int64_t rate_;
  int64_t next_ns_ = INT64_MIN / 2;  // when the bucket holds the token that was last taken
};

}  // namespace lockstep
