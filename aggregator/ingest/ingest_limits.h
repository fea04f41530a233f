// What the aggregator takes from agents. Meant for agents that are many, slow, mistaken or hostile: a well-behaved one
// meets none of them (docs/operations.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

struct IngestLimits {
  // Of one stream.
  uint32_t max_message_bytes = uint32_t{16} << 20;
  uint32_t window_batches = 16;        // unacknowledged
  int64_t max_sources = 65'536;        // announced
  int64_t max_messages_per_s = 2'000;  // read later beyond, never lost
  size_t max_run_name_bytes = 256;
  // Of all streams together.
  int64_t max_streams = 16'384;
  int64_t max_held_bytes = int64_t{256} << 20;  // messages that have arrived and are not answered
  int64_t max_working = 4;                      // batches being decoded and stored at once
};

}  // namespace lockstep
