// A whole source's batches as a live one would have sent them: each with what had ended by the end of its stretch of
// time. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/model/batch.h"

namespace lockstep {

// Stretches of `width_ns` (above 0) from `begin_ns` on; what ends before it belongs to the first one.
struct LiveStretches {
  int64_t begin_ns = 0;
  int64_t width_ns = 1;
};

struct LiveBatch {
  int64_t stretch = 0;
  Batch batch;
};

// The same rows in the same order as in `batches` (all of one source, in sequence), in batches of ascending stretches
// that are numbered anew. Instances count from their end, steps and buckets from that of their windows; a row that
// waits holds back those of its kind behind it. What a source knows only when it is over (tables, summary) stands in
// the last stretch. A stretch in which nothing ended has no batch; one of many rows has more than one.
[[nodiscard]] std::vector<LiveBatch> CutByTime(std::vector<Batch> batches, int64_t bucket_ns,
                                               const LiveStretches& stretches);

}  // namespace lockstep
