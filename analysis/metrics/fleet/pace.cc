#include "analysis/metrics/pace.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr int64_t kMaxBuckets = 256;

// Shares of the rank's own time in each bucket, so that a bucket cut by the rank's first or last activity shows no dip.
std::vector<double> Ratios(const std::vector<IntervalMeasure>& buckets, int64_t (*part)(const IntervalMeasure&)) {
  std::vector<double> ratios;
  for (const IntervalMeasure& bucket : buckets) {
    ratios.push_back(bucket.span_ns > 0 ? static_cast<double>(part(bucket)) / static_cast<double>(bucket.span_ns) : 0);
  }
  return ratios;
}

PaceOfRank PaceOf(const FleetRank& rank, size_t member, int64_t width, int64_t first, int64_t last) {
  std::vector<IntervalMeasure> buckets(static_cast<size_t>(last - first));
  const SourceContext& context = rank.source->context;
  const int64_t ratio = width / std::max<int64_t>(context.bucket_ns, 1);
  for (const BucketRow& row : rank.source->buckets) {
    const int64_t index = FloorIndex(row.index, std::max<int64_t>(ratio, 1));
    if (index >= first && index < last) buckets[static_cast<size_t>(index - first)].Add(row.measure);
  }
  PaceOfRank pace;
  pace.member = member;
  pace.compute = Ratios(buckets, [](const IntervalMeasure& m) { return m.compute_ns; });
  pace.comm = Ratios(buckets, [](const IntervalMeasure& m) { return m.comm_ns; });
  pace.busy = Ratios(buckets, [](const IntervalMeasure& m) { return m.busy_ns(); });
  return pace;
}

}  // namespace

Pace ComputePace(const Fleet& fleet) {
  Pace pace;
  int64_t start = INT64_MIN;
  int64_t end = INT64_MAX;
  for (const FleetRank& member : fleet.members) {
    const SourceContext& context = member.source->context;
    if (!HasActivity(context) || context.bucket_ns <= 0) continue;
    pace.bucket_ns = std::max(pace.bucket_ns, context.bucket_ns);
    start = std::max(start, context.first_start_ns);
    end = std::min(end, context.last_end_ns);
  }
  if (pace.bucket_ns <= 0 || start >= end) return {};
  while ((end - start) / pace.bucket_ns >= kMaxBuckets - 1) pace.bucket_ns *= 2;
  const int64_t first = FloorIndex(start, pace.bucket_ns);
  const int64_t last = FloorIndex(end - 1, pace.bucket_ns) + 1;
  pace.start_ns = first * pace.bucket_ns;
  for (size_t i = 0; i < fleet.members.size(); ++i) {
    const SourceContext& context = fleet.members[i].source->context;
    if (HasActivity(context) && context.bucket_ns > 0) {
      pace.ranks.push_back(PaceOf(fleet.members[i], i, pace.bucket_ns, first, last));
    }
  }
  return pace;
}

}  // namespace lockstep
