#include "analysis/metrics/fleet/pace.h"

#include <algorithm>

#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxBuckets = 256;

// Sums over the part of a rank's time that falls into one bucket of the common axis.
struct Share {
  double span = 0;
  double compute = 0;
  double comm = 0;
  double busy = 0;
};

// A bucket of a rank's own grid lies anywhere on the common axis: each bucket there gets its part of it.
void Spread(const IntervalMeasure& measure, int64_t start_ns, int64_t end_ns, const Pace& pace,
            std::vector<Share>& shares) {
  const int64_t pace_end = pace.start_ns + static_cast<int64_t>(shares.size()) * pace.bucket_ns;
  const int64_t stop = std::min(end_ns, pace_end);
  for (int64_t at = std::max(start_ns, pace.start_ns); at < stop;) {
    const int64_t i = (at - pace.start_ns) / pace.bucket_ns;
    const int64_t next = std::min(stop, pace.start_ns + (i + 1) * pace.bucket_ns);
    const double part = static_cast<double>(next - at) / static_cast<double>(end_ns - start_ns);
    Share& share = shares[static_cast<size_t>(i)];
    share.span += part * static_cast<double>(measure.span_ns);
    share.compute += part * static_cast<double>(measure.compute_ns);
    share.comm += part * static_cast<double>(measure.comm_ns);
    share.busy += part * static_cast<double>(measure.busy_ns());
    at = next;
  }
}

// A step without device time is done at once.
std::vector<double> StepsDone(const Fleet& fleet, const FleetRank& member, const Pace& pace, size_t buckets) {
  std::vector<double> done;
  const std::vector<StepRow>& steps = member.source->steps;
  size_t next = 0;
  double whole = 0;
  for (size_t i = 0; i < buckets; ++i) {
    const int64_t end = pace.start_ns + static_cast<int64_t>(i + 1) * pace.bucket_ns;
    double part = 0;
    for (; next < steps.size(); ++next) {
      if (steps[next].step == kNoStep) continue;
      const int64_t from = fleet.ToAligned(member, steps[next].window_start_ns);
      const int64_t to = fleet.ToAligned(member, steps[next].window_end_ns);
      if (to > end) {
        if (from < end) part = static_cast<double>(end - from) / static_cast<double>(to - from);
        break;
      }
      whole += 1;
    }
    done.push_back(whole + part);
  }
  return whole > 0 || (!done.empty() && done.back() > 0) ? done : std::vector<double>();
}

// Of the rank's own time in each bucket, so that a bucket cut by the rank's first or last activity shows no dip.
PaceOfRank PaceOf(const Fleet& fleet, size_t index, const Pace& pace, size_t buckets) {
  const FleetRank& member = fleet.members[index];
  const int64_t width = member.source->context.bucket_ns;
  std::vector<Share> shares(buckets);
  for (const BucketRow& row : member.source->buckets) {
    const int64_t start = GridTime(row.index, width);
    Spread(row.measure, fleet.ToAligned(member, start), fleet.ToAligned(member, start + width), pace, shares);
  }
  PaceOfRank out;
  out.member = index;
  for (const Share& share : shares) {
    const double span = share.span > 0 ? share.span : 1;
    out.compute.push_back(share.compute / span);
    out.comm.push_back(share.comm / span);
    out.busy.push_back(share.busy / span);
  }
  out.steps_done = StepsDone(fleet, member, pace, buckets);
  return out;
}

bool HasPace(const FleetRank& member) {
  return HasActivity(member.source->context) && member.source->context.bucket_ns > 0;
}

}  // namespace

Pace ComputePace(const Fleet& fleet) {
  Pace pace;
  int64_t start = INT64_MIN;
  int64_t end = INT64_MAX;
  for (const FleetRank& member : fleet.members) {
    const SourceContext& context = member.source->context;
    if (!HasPace(member)) continue;
    pace.bucket_ns = std::max(pace.bucket_ns, context.bucket_ns);
    start = std::max(start, fleet.ToAligned(member, context.first_start_ns));
    end = std::min(end, fleet.ToAligned(member, context.last_end_ns));
  }
  if (const auto window = fleet.TimeWindow()) {
    start = std::max(start, window->first);
    end = std::min(end, window->second);
  }
  if (pace.bucket_ns <= 0 || start >= end) return {};
  while ((end - start) / pace.bucket_ns >= kMaxBuckets - 1) pace.bucket_ns *= 2;
  const int64_t first = FloorIndex(start, pace.bucket_ns);
  const int64_t last = FloorIndex(end - 1, pace.bucket_ns) + 1;
  pace.start_ns = first * pace.bucket_ns;
  for (size_t i = 0; i < fleet.members.size(); ++i) {
    if (HasPace(fleet.members[i])) pace.ranks.push_back(PaceOf(fleet, i, pace, static_cast<size_t>(last - first)));
  }
  return pace;
}

}  // namespace lockstep
