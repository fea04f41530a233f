// What is certain about the clocks of a component: bounds against the reference at every knot, through the tightest
// chain of pairs, and which instances contradict them.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/domain_events.h"
#include "analysis/metrics/clock_align/knots.h"
#include "analysis/metrics/clock_align/network.h"

namespace lockstep {

// How the instances of a class usually end; by class id, 0 = not known.
struct ClassFigures {
  std::vector<double> scale;          // sd of a single end
  std::vector<double> self_duration;  // of the last arriver
};

struct BoundsInput {
  const DomainEvents& events;
  int32_t component = 0;
  const Knots& knots;
  const NetworkClock& clock;
  const ClassFigures& classes;
  const std::vector<double>& noise_ns;  // per domain: by how much a record may lie off its clock
};

struct CertifiedBounds {
  std::vector<std::vector<double>> lo;  // [knot][domain of the component], against the reference
  std::vector<std::vector<double>> hi;
  std::vector<bool> complete;          // per domain: bounded on both sides at every knot, and consistent
  std::vector<int64_t> contradictory;  // per domain: instances
  std::vector<uint32_t> suspicious;    // instances, ascending
};

// What lies beyond is not bounded.
inline constexpr double kUnboundedNs = 1e12;

[[nodiscard]] CertifiedBounds CertifyBounds(const BoundsInput& input, Executor& executor);

}  // namespace lockstep
