#include "analysis/metrics/clock_align/domain_events.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/metrics/clock_align/robust.h"

namespace lockstep {
namespace {

struct LocalTimes {
  int32_t domain = 0;
  int64_t last_start = INT64_MIN;
  int64_t first_end = INT64_MAX;
  int64_t end_origin = 0;
  int64_t end_sum = 0;  // of distances from end_origin
  int64_t counted = 0;  // members in the sum: those whose bias is known, or all if there is none
  bool any_known = false;
  bool last_known = true;
  int64_t shortest = INT64_MAX;

  [[nodiscard]] int64_t MeanEnd() const { return end_origin + end_sum / counted; }
};

struct LocalEvent {
  uint32_t instance = 0;
  size_t first = 0;
  size_t count = 0;
};

struct LocalEvents {
  std::vector<LocalEvent> events;
  std::vector<LocalTimes> times;
};

void CountEnd(LocalTimes& times, int64_t end, bool known) {
  if (!known && times.any_known) return;
  if (times.counted == 0 || (known && !times.any_known)) {
    times.end_origin = end;
    times.end_sum = 0;
    times.counted = 0;
  }
  times.any_known = times.any_known || known;
  times.end_sum += end - times.end_origin;
  ++times.counted;
}

void Join(LocalTimes& times, int64_t start, int64_t end, bool known) {
  if (start > times.last_start) times.last_known = known;
  times.last_start = std::max(times.last_start, start);
  times.first_end = std::min(times.first_end, end);
  times.shortest = std::min(times.shortest, end - start);
  CountEnd(times, end, known);
}

// The instance's domains: by domain, or the root's first. Empty when it lies in one domain.
std::vector<LocalTimes> TimesOf(const ClockInput& input, const ClockInstance& instance, const DeviceClocks& devices) {
  std::map<int32_t, LocalTimes> by_domain;
  const bool rooted = instance.relation != ClockRelation::kAllPairs;
  int32_t root = -1;
  for (uint32_t m = 0; m < instance.members; ++m) {
    const ClockMember& member = input.members[instance.first_member + m];
    const int32_t domain = input.domain[static_cast<size_t>(member.rank_index)];
    if (rooted && m == 0) root = domain;
    if (rooted && m > 0 && domain == root) continue;
    const int64_t bias = devices.BiasOf(member.rank_index, member.start_ns);
    LocalTimes& times = by_domain[domain];
    times.domain = domain;
    const bool known = !devices.apart[static_cast<size_t>(member.rank_index)];
    Join(times, member.start_ns - bias, member.end_ns - bias, known);
  }
  std::vector<LocalTimes> out;
  if (by_domain.size() < 2) return out;
  if (rooted) out.push_back(by_domain.at(root));
  for (const auto& [domain, times] : by_domain) {
    if (domain != root) out.push_back(times);
  }
  return out;
}

LocalEvents Flatten(const ClockInput& input, const DeviceClocks& devices) {
  LocalEvents out;
  for (size_t i = 0; i < input.instances.size(); ++i) {
    const std::vector<LocalTimes> times = TimesOf(input, input.instances[i], devices);
    if (times.empty()) continue;
    out.events.push_back({static_cast<uint32_t>(i), out.times.size(), times.size()});
    out.times.insert(out.times.end(), times.begin(), times.end());
  }
  return out;
}

// Differences of ends between neighbours in the list of each event.
std::map<DomainPair, std::vector<double>> EndDifferences(const LocalEvents& local) {
  constexpr size_t kEnough = 256;
  std::map<DomainPair, std::vector<double>> out;
  for (const LocalEvent& event : local.events) {
    for (size_t i = 1; i < event.count; ++i) {
      const LocalTimes& a = local.times[event.first + i - 1];
      const LocalTimes& b = local.times[event.first + i];
      const bool ordered = a.domain < b.domain;
      auto& differences = out[std::minmax(a.domain, b.domain)];
      if (differences.size() >= kEnough) continue;
      const int64_t d = a.MeanEnd() - b.MeanEnd();
      differences.push_back(static_cast<double>(ordered ? d : -d));
    }
  }
  return out;
}

struct DomainLink {
  DomainPair pair;
  size_t samples = 0;
  double difference = 0;  // of the first against the second
};

// Domains linked by the edges with most samples; each linked domain learns its offset against its component's
// reference.
class Forest {
 public:
  explicit Forest(size_t domains) : parent_(domains), offset_(domains) { std::iota(parent_.begin(), parent_.end(), 0); }

  void Link(const DomainLink& edge) {
    const int32_t a = Root(edge.pair.first);
    const int32_t b = Root(edge.pair.second);
    if (a == b) return;
    // offset(first) - offset(second) = difference, where a domain's offset is told against its root.
    const double shift = edge.difference - offset_[static_cast<size_t>(edge.pair.first)] +
                         offset_[static_cast<size_t>(edge.pair.second)];
    for (size_t d = 0; d < parent_.size(); ++d) {
      if (parent_[d] != a) continue;
      parent_[d] = b;
      offset_[d] += shift;
    }
  }
  [[nodiscard]] int32_t Root(int32_t domain) const { return parent_[static_cast<size_t>(domain)]; }
  [[nodiscard]] double Offset(int32_t domain) const { return offset_[static_cast<size_t>(domain)]; }

 private:
  std::vector<int32_t> parent_;  // flat: always the root
  std::vector<double> offset_;
};

Forest LinkDomains(const LocalEvents& local, size_t domains) {
  std::vector<DomainLink> edges;
  for (auto& [pair, differences] : EndDifferences(local)) {
    edges.push_back({pair, differences.size(), Median(differences)});
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const DomainLink& a, const DomainLink& b) { return a.samples > b.samples; });
  Forest forest(domains);
  for (const DomainLink& edge : edges) forest.Link(edge);
  return forest;
}

// The domain of the lowest rank of each component is its reference: offset 0.
void SetComponents(const ClockInput& input, const Forest& forest, DomainEvents& out) {
  std::map<int32_t, int32_t> component_of_root;
  for (int32_t domain : input.domain) {
    const int32_t root = forest.Root(domain);
    const auto [at, added] = component_of_root.emplace(root, static_cast<int32_t>(out.reference.size()));
    if (added) out.reference.push_back(domain);
    out.component[static_cast<size_t>(domain)] = at->second;
  }
}

void SetBases(const LocalEvents& local, const Forest& forest, DomainEvents& out) {
  for (size_t d = 0; d < out.base_ns.size(); ++d) {
    const int32_t reference = out.reference[static_cast<size_t>(out.component[d])];
    out.base_ns[d] = std::llround(forest.Offset(static_cast<int32_t>(d)) - forest.Offset(reference));
  }
  int64_t origin = INT64_MAX;
  for (const LocalTimes& times : local.times) {
    origin = std::min(origin, times.last_start - out.base_ns[static_cast<size_t>(times.domain)]);
  }
  if (local.times.empty()) origin = 0;
  for (int64_t& base : out.base_ns) base += origin;
}

DomainTimes OnCommonAxis(const LocalTimes& times, int64_t base) {
  return {times.domain,
          static_cast<double>(times.last_start - base),
          static_cast<double>(times.first_end - base),
          static_cast<double>(times.MeanEnd() - base),
          static_cast<double>(times.shortest),
          static_cast<double>(times.counted),
          times.last_known};
}

// By class: members of its largest instance.
std::vector<uint32_t> MembersOfClasses(const ClockInput& input) {
  std::vector<uint32_t> most;
  for (const ClockInstance& instance : input.instances) {
    if (most.size() <= instance.cls) most.resize(instance.cls + 1);
    most[instance.cls] = std::max(most[instance.cls], instance.members);
  }
  return most;
}

}  // namespace

void DomainEvents::RemoveStep(int32_t domain, double t, double size) {
  for (const DomainEvent& event : events) {
    if (event.t <= t) continue;
    for (uint32_t i = 0; i < event.count; ++i) {
      DomainTimes& x = times[event.first + i];
      if (x.domain != domain) continue;
      x.last_start -= size;
      x.first_end -= size;
      x.mean_end -= size;
    }
  }
}

void DomainEvents::Sort() {
  std::stable_sort(events.begin(), events.end(), [](const DomainEvent& a, const DomainEvent& b) { return a.t < b.t; });
}

DomainEvents ReduceToDomains(const ClockInput& input, const DeviceClocks& devices, int32_t domains) {
  const LocalEvents local = Flatten(input, devices);
  const auto count = static_cast<size_t>(domains);
  const Forest forest = LinkDomains(local, count);
  DomainEvents out;
  out.base_ns.resize(count);
  out.component.resize(count);
  out.instances.resize(count);
  out.even.resize(count);
  SetComponents(input, forest, out);
  SetBases(local, forest, out);
  const std::vector<uint32_t> most_members = MembersOfClasses(input);
  for (const LocalEvent& event : local.events) {
    const ClockInstance& instance = input.instances[event.instance];
    DomainEvent e{event.instance,
                  static_cast<uint32_t>(out.times.size()),
                  static_cast<uint32_t>(event.count),
                  instance.relation,
                  instance.cls,
                  instance.members < most_members[instance.cls]};
    std::vector<double> ends;
    for (size_t i = 0; i < event.count; ++i) {
      const LocalTimes& times = local.times[event.first + i];
      out.times.push_back(OnCommonAxis(times, out.base_ns[static_cast<size_t>(times.domain)]));
      ends.push_back(out.times.back().mean_end);
      ++out.instances[static_cast<size_t>(times.domain)];
      if (!instance.own_ends) ++out.even[static_cast<size_t>(times.domain)];
    }
    e.t = Median(std::move(ends));
    out.events.push_back(e);
  }
  out.Sort();
  return out;
}

}  // namespace lockstep
