#include "analysis/condense/bucket_measures.h"

#include <algorithm>
#include <utility>

#include "analysis/model/instance_row.h"

namespace lockstep {

BucketMeasures::BucketMeasures(int64_t bucket_ns, std::optional<std::pair<int64_t, int64_t>> window_ns,
                               std::function<void(BucketRow)> emit)
    : bucket_ns_(bucket_ns), window_ns_(window_ns), emit_(std::move(emit)) {}

template <typename Add>
void BucketMeasures::Split(int64_t from_ns, int64_t to_ns, const Add& add) {
  if (window_ns_) {
    from_ns = std::max(from_ns, window_ns_->first);
    to_ns = std::min(to_ns, window_ns_->second);
  }
  while (from_ns < to_ns) {
    const int64_t index = GridIndex(from_ns, bucket_ns_);
    if (index != row_.index) {
      Finish();
      row_.index = index;
    }
    const int64_t end = std::min(to_ns, (index + 1) * bucket_ns_);
    add(row_.measure, from_ns, end);
    from_ns = end;
  }
}

void BucketMeasures::Segment(int64_t from_ns, int64_t to_ns, const ActiveCounts& all) {
  Split(from_ns, to_ns,
        [&](IntervalMeasure& measure, int64_t from, int64_t to) { AddSegment(measure, all, to - from); });
}

void BucketMeasures::Idle(const Gap& gap) {
  Split(gap.begin_ns, gap.end_ns,
        [&](IntervalMeasure& measure, int64_t from, int64_t to) { AddGap(measure, gap, from, to); });
}

void BucketMeasures::Finish() {
  if (row_.measure.span_ns > 0) emit_(row_);
  row_ = {};
}

}  // namespace lockstep
