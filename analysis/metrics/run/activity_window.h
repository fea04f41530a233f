// When a source's device was active, and whether that can be compared between files at all.
#pragma once

#include <algorithm>
#include <cstdint>

#include "analysis/base/time.h"
#include "analysis/model/source.h"

namespace lockstep {

// Kept within the bounds of sane times, so that sums of a few never overflow.
struct ActivityWindow {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool active = false;    // there is any device activity
  bool anchored = false;  // on the Unix clock; else relative to an unknown start of the session
};

// Times before 1980 are not the clock of a machine that runs traces: such files have no anchor.
inline constexpr int64_t kEarliestAnchorNs = int64_t{10} * 365 * 24 * kNsPerHour;

[[nodiscard]] inline bool HasDeviceRows(const SourceContext& c) {
  return c.kernels + c.memcpys + c.memsets + c.graph_spans > 0;
}

[[nodiscard]] inline ActivityWindow WindowOf(const SourceContext& c) {
  ActivityWindow w;
  w.start_ns = std::clamp(c.first_start_ns, -kMaxAbsTimeNs, kMaxAbsTimeNs);
  w.end_ns = std::clamp(c.last_end_ns, w.start_ns, 2 * kMaxAbsTimeNs);
  w.active = HasDeviceRows(c);
  w.anchored = w.active && w.start_ns >= kEarliestAnchorNs;
  return w;
}

[[nodiscard]] inline bool Overlap(const ActivityWindow& a, const ActivityWindow& b) {
  return a.start_ns < b.end_ns && b.start_ns < a.end_ns;
}

}  // namespace lockstep
