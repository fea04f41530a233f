#include "analysis/metrics/clock_align/event_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kInstancesPerDomain = 4;  // of a class that stands alone

struct ClassEvents {
  std::set<int32_t> domains;
  std::vector<const DomainEvent*> events;
  std::vector<double> shortest_ns;  // of each event
};

std::map<uint32_t, ClassEvents> ClassesOf(const DomainEvents& events, int32_t component) {
  std::map<uint32_t, ClassEvents> classes;
  for (const DomainEvent& event : events.events) {
    if (event.relation != ClockRelation::kAllPairs) continue;
    const int32_t first = events.times[event.first].domain;
    if (events.component[static_cast<size_t>(first)] != component) continue;
    ClassEvents& found = classes[event.cls];
    double shortest = INFINITY;
    for (uint32_t i = 0; i < event.count; ++i) {
      const DomainTimes& times = events.times[event.first + i];
      found.domains.insert(times.domain);
      shortest = std::min(shortest, times.shortest);
    }
    found.events.push_back(&event);
    found.shortest_ns.push_back(shortest);
  }
  return classes;
}

}  // namespace

std::vector<EventGroup> GroupsOf(const DomainEvents& events, int32_t component) {
  struct Members {
    std::vector<const DomainEvent*> events;
    std::vector<double> shortest_ns;
  };
  // Key: domains, then the class itself, or the magnitude of small ones.
  std::map<std::tuple<std::vector<int32_t>, int64_t, int>, Members> groups;
  for (const auto& [cls, found] : ClassesOf(events, component)) {
    const bool large = found.events.size() >= kInstancesPerDomain * found.domains.size();
    const int magnitude = large ? 0 : std::ilogb(std::max(1.0, Median(found.shortest_ns)));
    Members& members = groups[{{found.domains.begin(), found.domains.end()}, large ? int64_t{cls} : -1, magnitude}];
    members.events.insert(members.events.end(), found.events.begin(), found.events.end());
    members.shortest_ns.insert(members.shortest_ns.end(), found.shortest_ns.begin(), found.shortest_ns.end());
  }
  std::vector<EventGroup> out;
  for (auto& [key, members] : groups) {
    std::stable_sort(members.events.begin(), members.events.end(),
                     [](const DomainEvent* a, const DomainEvent* b) { return a->t < b->t; });
    out.push_back({std::get<0>(key), std::move(members.events), Median(std::move(members.shortest_ns))});
  }
  return out;
}

}  // namespace lockstep
