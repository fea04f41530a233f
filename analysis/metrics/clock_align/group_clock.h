// Clocks of the domains of one group from the ends of their all-pairs instances.
//
// All ends of an instance follow the same last arrival, so end_i = T + x_i(t) + position + noise: with a free T for
// each instance, every instance measures every clock of the group. What the position of a domain against the last
// arriver adds is averaged over last arrivers, each of which counts about the same however often it was last; what its
// own position adds shows in how long its own instances take when it is the last: most of that is taken off.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/domain_events.h"
#include "analysis/metrics/clock_align/knots.h"

namespace lockstep {

struct GroupClock {
  std::vector<int32_t> domains;            // ascending
  std::vector<std::vector<double>> value;  // [domain of the group][knot], against a constant common to the group
  std::vector<std::vector<double>> variance;
  std::vector<int64_t> times_last;    // per domain of the group
  std::vector<uint32_t> classes;      // ids of the classes of its instances, ascending
  std::vector<double> class_scale;    // by class; 0 = not measured. sd of a domain's mean end about the clocks
  double noise_ns = 0;                // sd of a single device's end about clock and position, of the quietest class
  std::vector<double> self_duration;  // by class: median duration of the last arriver; 0 = not measured
  double duration_ns = 0;             // the longest of these
};

// Instances longer than this say little about clocks: their ends lie apart by unknown shares of their durations.
inline constexpr double kBandwidthBoundNs = 500'000;
// Standard deviation of what its position takes off an end, as a share of the duration.
inline constexpr double kUsualPosition = 0.02;

// Groups of domains that share all-pairs instances, in order of their domains.
[[nodiscard]] std::vector<GroupClock> MeasureGroups(const DomainEvents& events, int32_t component, const Knots& knots,
                                                    Executor& executor);

}  // namespace lockstep
