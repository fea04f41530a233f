// Interval measures on a fixed grid of buckets, given out as the sweep passes them. One thread, no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "analysis/condense/gap.h"
#include "analysis/condense/interval_sets.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/step_row.h"

namespace lockstep {

class BucketMeasures {
 public:
  // With a window only what lies inside it is measured.
  BucketMeasures(int64_t bucket_ns, std::optional<std::pair<int64_t, int64_t>> window_ns,
                 std::function<void(BucketRow)> emit);

  void Segment(int64_t from_ns, int64_t to_ns, const ActiveCounts& all);
  void Idle(const Gap& gap);
  void Finish();

 private:
  // Calls add(measure, from, to) for the part of [from, to) in each bucket.
  template <typename Add>
  void Split(int64_t from_ns, int64_t to_ns, const Add& add);

  int64_t bucket_ns_;
  std::optional<std::pair<int64_t, int64_t>> window_ns_;
  std::function<void(BucketRow)> emit_;
  BucketRow row_;
};

// floor(t / width), also for negative times.
[[nodiscard]] constexpr int64_t GridIndex(int64_t t, int64_t width) {
  const int64_t q = t / width;
  return t % width < 0 ? q - 1 : q;
}

}  // namespace lockstep
