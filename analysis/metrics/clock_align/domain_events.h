// Matched instances as clock domains see them: per domain its last start, first end and mean end, with the bias of
// devices taken out, on axes that a first coarse alignment brought together.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/metrics/clock_align/clock_align.h"
#include "analysis/metrics/clock_align/in_domain.h"

namespace lockstep {

using DomainPair = std::pair<int32_t, int32_t>;  // ascending

struct DomainTimes {
  int32_t domain = 0;
  double last_start = 0;
  double first_end = 0;
  double mean_end = 0;     // of the devices whose biases are known, if there are any
  double shortest = 0;     // duration
  double ends = 1;         // number of ends that mean_end is the mean of
  bool last_known = true;  // the bias of the device that started last is known
};

struct DomainEvent {
  uint32_t instance = 0;  // into ClockInput::instances
  uint32_t first = 0;     // into DomainEvents::times; for one-way relations the first one is the root's
  uint32_t count = 0;     // >= 2
  ClockRelation relation = ClockRelation::kAllPairs;
  uint32_t cls = 0;
  bool lacking = false;  // others of its class have more members: who was last need not be among those that are seen
  double t = 0;          // on the coarse common axis
};

struct DomainEvents {
  std::vector<DomainEvent> events;  // ascending in t
  std::vector<DomainTimes> times;
  std::vector<int64_t> base_ns;    // per domain: LocalTime = base + t
  std::vector<int32_t> component;  // per domain, dense in order of the reference domains
  std::vector<int32_t> reference;  // per component: the domain of its lowest rank
  std::vector<int64_t> instances;  // per domain: events that bound it against others
  std::vector<int64_t> even;       // of these: those whose members end together, not each with its own volume

  // From t on the domain's times are `size` too large: brings them back.
  void RemoveStep(int32_t domain, double t, double size);
  void Sort();
};

[[nodiscard]] DomainEvents ReduceToDomains(const ClockInput& input, const DeviceClocks& devices, int32_t domains);

}  // namespace lockstep
