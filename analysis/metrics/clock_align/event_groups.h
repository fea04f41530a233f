// Which all-pairs instances are fitted together, for the clocks of their domains.
//
// A class is a group of its own if it has enough instances: what positions add differs from class to class. Smaller
// classes that span the same domains are joined by the magnitude of their durations. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/clock_align/domain_events.h"

namespace lockstep {

struct EventGroup {
  std::vector<int32_t> domains;            // ascending
  std::vector<const DomainEvent*> events;  // in order of time; they belong to the DomainEvents
  double typical_ns = 0;                   // median over the events of the shortest duration of a member
};

// Of a component, in order of their domains.
[[nodiscard]] std::vector<EventGroup> GroupsOf(const DomainEvents& events, int32_t component);

}  // namespace lockstep
