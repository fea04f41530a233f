#include "analysis/condense/gap.h"

#include <algorithm>

#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr int64_t kLaunchGapNs = 15'000;

}  // namespace

Gap ClassifyGap(int64_t begin_ns, int64_t end_ns, int64_t launch_end_ns, bool waited) {
  Gap gap{begin_ns, begin_ns, end_ns, GapRest::kOther};
  if (launch_end_ns == kNoTime) return gap;
  gap.host_end_ns = std::min(end_ns, std::max(begin_ns, launch_end_ns));
  const int64_t rest = end_ns - gap.host_end_ns;
  if (rest == 0) {
    gap.rest = GapRest::kNone;
  } else if (rest <= kLaunchGapNs) {
    gap.rest = GapRest::kLaunch;
  } else {
    gap.rest = waited ? GapRest::kDependency : GapRest::kOther;
  }
  return gap;
}

void AddGap(IntervalMeasure& measure, const Gap& gap, int64_t from_ns, int64_t to_ns) {
  const auto inside = [&](int64_t begin, int64_t end) {
    return std::max<int64_t>(0, std::min(end, to_ns) - std::max(begin, from_ns));
  };
  const int64_t host = inside(gap.begin_ns, gap.host_end_ns);
  const int64_t rest = inside(gap.host_end_ns, gap.end_ns);
  measure.span_ns += host + rest;
  measure.idle_host_ns += host;
  switch (gap.rest) {
    case GapRest::kNone:
      break;
    case GapRest::kLaunch:
      measure.idle_launch_ns += rest;
      break;
    case GapRest::kDependency:
      measure.idle_dependency_ns += rest;
      break;
    case GapRest::kOther:
      measure.idle_other_ns += rest;
      break;
  }
}

}  // namespace lockstep
