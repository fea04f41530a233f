// What a batch must satisfy given the batches before it, whatever the backend: dense ids, references to things already
// defined, instances in order of start. Pure values; no thread rule.
#pragma once

#include <absl/status/status.h>

#include <cstdint>

#include "analysis/model/source_extent.h"

namespace lockstep {

struct ReceivedBatch;

// Where the stream of one source stands.
struct StreamState {
  int64_t next_sequence = 0;
  int64_t names = 0;          // defined so far
  int64_t communicators = 0;  // defined so far
  int64_t instances = 0;
  int64_t last_start_ns = INT64_MIN;  // of the last instance
  bool complete = false;
};

// kInvalidArgument naming what is wrong. The caller has checked that the sequence is the next one.
[[nodiscard]] absl::Status CheckBatch(const StreamState& state, const ReceivedBatch& received);
// The state after this batch.
[[nodiscard]] StreamState After(const StreamState& state, const ReceivedBatch& received);

// Whether so much of the source is there.
[[nodiscard]] inline bool Covers(const StreamState& state, const SourceExtent& extent) {
  return state.complete || (extent.batches > 0 && state.next_sequence >= extent.batches);
}

}  // namespace lockstep
