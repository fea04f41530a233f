#include "analysis/report/views/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/report/views/values.h"

namespace lockstep {
namespace {

struct Domain {
  int32_t id = 0;
  std::string host;             // of its lowest rank
  std::vector<size_t> members;  // into Fleet::members, ascending
  int64_t instances = 0;        // usable ones inside the domain
  size_t component = 0;         // into Clocks::components
  bool reference = false;
};

struct Component {
  std::string reference_host;
  int64_t all_domains = 0;      // of the run, selected or not
  std::vector<size_t> domains;  // into Clocks::domains
};

// The domains of the selected ranks and their components, both in order of their lowest selected rank.
struct Clocks {
  std::vector<Domain> domains;
  std::vector<Component> components;
  AlignedTime middle{0};  // of the run: where ranks are compared
};

std::string_view MethodName(ClockMethod method) {
  switch (method) {
    case ClockMethod::kShared:
      return "shared";
    case ClockMethod::kBand:
      return "band";
    case ClockMethod::kEnds:
      return "ends";
    case ClockMethod::kUtc:
      return "utc";
    case ClockMethod::kNone:
      break;
  }
  return "none";
}

const DomainClock& ClockOf(const ViewInput& input, const Domain& domain) {
  return input.fleet.match.clock.ClockOf(DomainId{domain.id});
}

// The reference of a component is the domain of its lowest rank, selected or not.
std::map<int32_t, int32_t> References(const ViewInput& input) {
  const ClockModel& clock = input.fleet.match.clock;
  std::map<int32_t, int32_t> references;  // component -> domain
  for (size_t i = 0; i < input.fleet.ranks.ranks.size(); ++i) {
    const auto rank_index = static_cast<int32_t>(i);
    references.emplace(clock.ComponentOf(rank_index), clock.DomainOf(rank_index).value);
  }
  return references;
}

void CountDomainInstances(const ViewInput& input, const std::map<int32_t, size_t>& at, Clocks& clocks) {
  const ClockModel& clock = input.fleet.match.clock;
  const std::vector<JoinedRank>& ranks = input.measures.joined.ranks;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const auto found = at.find(clock.DomainOf(static_cast<int32_t>(r)).value);
    if (found != at.end()) clocks.domains[found->second].instances += ranks[r].lowest;
  }
}

void FillComponents(const ViewInput& input, Clocks& clocks) {
  const ClockModel& clock = input.fleet.match.clock;
  const std::map<int32_t, int32_t> references = References(input);
  std::map<int32_t, size_t> numbers;
  for (size_t d = 0; d < clocks.domains.size(); ++d) {
    Domain& domain = clocks.domains[d];
    const int32_t component = ClockOf(input, domain).component;
    const auto [at, is_new] = numbers.emplace(component, clocks.components.size());
    if (is_new) clocks.components.emplace_back();
    domain.component = at->second;
    domain.reference = references.at(component) == domain.id;
    clocks.components[at->second].domains.push_back(d);
  }
  for (int32_t d = 0; d < clock.domains(); ++d) {
    const auto at = numbers.find(clock.ClockOf(DomainId{d}).component);
    if (at != numbers.end()) ++clocks.components[at->second].all_domains;
  }
  for (size_t i = 0; i < input.fleet.ranks.ranks.size(); ++i) {
    const auto at = numbers.find(clock.ComponentOf(static_cast<int32_t>(i)));
    if (at == numbers.end()) continue;
    std::string& host = clocks.components[at->second].reference_host;
    if (host.empty() && clock.DomainOf(static_cast<int32_t>(i)).value == references.at(at->first)) {
      host = input.fleet.ranks.ranks[i].host;
    }
  }
}

AlignedTime Middle(const ViewInput& input) {
  const RunSpan span = SpanOf(input.fleet.run, input.fleet.ranks, input.fleet.match.clock);
  return AlignedTime{span.start_ns + (span.end_ns - span.start_ns) / 2};
}

Clocks CollectClocks(const ViewInput& input) {
  Clocks clocks;
  std::map<int32_t, size_t> at;
  for (size_t i = 0; i < input.fleet.members.size(); ++i) {
    const FleetRank& member = input.fleet.members[i];
    const auto [found, is_new] = at.emplace(member.domain, clocks.domains.size());
    if (is_new) {
      clocks.domains.emplace_back();
      clocks.domains.back().id = member.domain;
      clocks.domains.back().host = member.host;
    }
    clocks.domains[found->second].members.push_back(i);
  }
  CountDomainInstances(input, at, clocks);
  FillComponents(input, clocks);
  clocks.middle = Middle(input);
  return clocks;
}

const ClockKnot* NearestKnot(const ViewInput& input, const Clocks& clocks, const Domain& domain) {
  const FleetRank& member = input.fleet.members[domain.members.front()];
  const int64_t local = input.fleet.ToLocal(member, clocks.middle.ns);
  const ClockKnot* nearest = nullptr;
  for (const ClockKnot& knot : ClockOf(input, domain).knots) {
    if (nearest == nullptr || std::abs(knot.t_ns - local) < std::abs(nearest->t_ns - local)) nearest = &knot;
  }
  return nearest;
}

// Nothing for a side that is not bounded.
std::optional<int64_t> Bound(int64_t bound_ns) {
  constexpr int64_t kUnbounded = int64_t{1} << 53;
  return KnownIf(bound_ns > -kUnbounded && bound_ns < kUnbounded, bound_ns);
}

std::optional<std::pair<int64_t, int64_t>> Band(const ClockKnot& knot) {
  const std::optional<int64_t> lower = Bound(knot.lo_ns);
  const std::optional<int64_t> upper = Bound(knot.hi_ns);
  if (!lower || !upper) return std::nullopt;
  return std::pair(*lower, *upper);
}

std::vector<report::ClockKnot> KnotList(const ViewInput& input, const Domain& domain) {
  std::vector<report::ClockKnot> list;
  for (const ClockKnot& knot : ClockOf(input, domain).knots) {
    list.push_back({.t_ns = input.SinceStart(knot.t_ns - knot.offset_ns),
                    .offset_ns = knot.offset_ns,
                    .lo_ns = Bound(knot.lo_ns),
                    .hi_ns = Bound(knot.hi_ns),
                    .sigma_ns = knot.sigma_ns});
  }
  return list;
}

std::vector<report::ClockStep> StepList(const ViewInput& input, const Domain& domain) {
  const FleetRank& member = input.fleet.members[domain.members.front()];
  std::vector<report::ClockStep> list;
  for (const ClockStepEvent& step : ClockOf(input, domain).steps) {
    list.push_back({input.fleet.SinceStart(member, step.t_ns), step.size_ns});
  }
  return list;
}

// How far each device of the domain reads beyond the domain's clock; empty where no bias was found.
std::vector<report::ClockDevice> DeviceList(const ViewInput& input, const Clocks& clocks, const Domain& domain) {
  std::vector<report::ClockDevice> list;
  bool any = false;
  for (const size_t m : domain.members) {
    const FleetRank& member = input.fleet.members[m];
    const LocalTime local{input.fleet.ToLocal(member, clocks.middle.ns)};
    const int64_t bias = input.fleet.match.clock.BiasOf(static_cast<int32_t>(member.index), local);
    any = any || bias != 0;
    list.push_back({member.rank, bias});
  }
  if (!any) list.clear();
  return list;
}

std::optional<int64_t> PairUncertainty(const ViewInput& input, const Clocks& clocks, size_t a, size_t b) {
  const auto uncertainty =
      input.fleet.match.clock.PairUncertainty(static_cast<int32_t>(input.fleet.members[a].index),
                                              static_cast<int32_t>(input.fleet.members[b].index), clocks.middle);
  return uncertainty ? std::optional(uncertainty->ns) : std::nullopt;
}

// The pair of ranks that can be compared worst.
struct WorstPair {
  std::optional<int64_t> uncertainty_ns;
  size_t a = 0;
  size_t b = 0;

  void Offer(std::optional<int64_t> uncertainty, size_t x, size_t y) {
    if (uncertainty && *uncertainty > uncertainty_ns.value_or(-1)) *this = {uncertainty, x, y};
  }
};

WorstPair WorstInside(const ViewInput& input, const Clocks& clocks, const Domain& domain) {
  WorstPair worst;
  for (size_t i = 0; i < domain.members.size(); ++i) {
    for (size_t j = i + 1; j < domain.members.size(); ++j) {
      const size_t a = domain.members[i];
      const size_t b = domain.members[j];
      worst.Offer(PairUncertainty(input, clocks, a, b), a, b);
    }
  }
  return worst;
}

// The rank of the domain whose device is known least, or best.
size_t MemberByDoubt(const ViewInput& input, const Domain& domain, bool least_known) {
  const auto doubt = [&](size_t m) {
    const int64_t doubt_ns = input.fleet.match.clock.BiasDoubtOf(static_cast<int32_t>(input.fleet.members[m].index));
    return least_known ? -doubt_ns : doubt_ns;
  };
  return *std::min_element(domain.members.begin(), domain.members.end(),
                           [&](size_t a, size_t b) { return doubt(a) < doubt(b); });
}

// Between domains every pair of ranks whose biases are known is known alike: one of each stands for all.
WorstPair WorstOf(const ViewInput& input, const Clocks& clocks, const Component& component) {
  WorstPair worst;
  for (size_t i = 0; i < component.domains.size(); ++i) {
    const Domain& x = clocks.domains[component.domains[i]];
    const WorstPair inside = WorstInside(input, clocks, x);
    worst.Offer(inside.uncertainty_ns, inside.a, inside.b);
    for (size_t j = i + 1; j < component.domains.size(); ++j) {
      const Domain& y = clocks.domains[component.domains[j]];
      const size_t a = MemberByDoubt(input, x, true);
      const size_t b = MemberByDoubt(input, y, true);
      worst.Offer(PairUncertainty(input, clocks, a, b), a, b);
    }
  }
  return worst;
}

report::ClockComponent ComponentRow(const ViewInput& input, const Clocks& clocks, size_t number) {
  const Component& component = clocks.components[number];
  report::ClockComponent row;
  row.component = static_cast<int64_t>(number);
  row.reference_host = TextIfAny(component.reference_host);
  for (const size_t d : component.domains) {
    const std::string& host = clocks.domains[d].host;
    const bool listed = std::find(row.hosts.begin(), row.hosts.end(), host) != row.hosts.end();
    if (!host.empty() && !listed) row.hosts.push_back(host);
  }
  const WorstPair worst = WorstOf(input, clocks, component);
  row.not_resolvable_below_ns = worst.uncertainty_ns;
  if (worst.uncertainty_ns) row.worst_pair = std::pair(input.RankOf(worst.a), input.RankOf(worst.b));
  return row;
}

// What the alignment says about a domain that is compared with others.
void FillAlignment(const ViewInput& input, const Clocks& clocks, const Domain& domain, report::ClockHostRow& row) {
  const DomainClock& clock = ClockOf(input, domain);
  const Domain& first = clocks.domains[clocks.components[domain.component].domains.front()];
  if (!domain.reference && first.reference) {
    row.uncertainty_ns =
        PairUncertainty(input, clocks, MemberByDoubt(input, first, false), MemberByDoubt(input, domain, false));
  }
  if (!domain.reference) row.drift_ppm = clock.drift_ppm;
  if (const ClockKnot* knot = NearestKnot(input, clocks, domain)) {
    row.offset_ns = knot->offset_ns;
    row.at_ns = input.SinceStart(knot->t_ns - knot->offset_ns);
    row.certified_ns = Band(*knot);
    row.sigma_ns = knot->sigma_ns;
  }
  row.certified = clock.certified;
  row.method = MethodName(domain.reference ? ClockMethod::kShared : clock.method);
  row.instances = clock.instances;
}

report::ClockHostRow DomainRow(const ViewInput& input, const Clocks& clocks, const Domain& domain) {
  report::ClockHostRow row;
  row.host = TextIfAny(domain.host);
  row.domain = domain.id;
  row.ranks = domain.members.size();
  row.component = static_cast<int64_t>(domain.component);
  if (clocks.components[domain.component].all_domains > 1) {
    FillAlignment(input, clocks, domain, row);
  } else {  // alone, with nothing to be compared with
    row.method = domain.members.size() > 1 ? "shared" : "none";
    row.instances = domain.instances;
  }
  row.inside_ns = WorstInside(input, clocks, domain).uncertainty_ns;
  row.devices = DeviceList(input, clocks, domain);
  row.knots = KnotList(input, domain);
  row.steps = StepList(input, domain);
  return row;
}

void NotifyOfClocks(const ViewInput& input, const Clocks& clocks) {
  if (input.fleet.Restricted()) input.Notify("clock", "clocks are aligned over the whole run, whatever is selected");
  if (clocks.components.size() > 1) {
    input.Notify("clock",
                 fmt::format("{} groups of clocks share no collective, directly or through others: arrivals are not "
                             "compared between them, and their times rely on the UTC clocks of the hosts",
                             clocks.components.size()));
  }
  const bool coarse = std::any_of(clocks.domains.begin(), clocks.domains.end(), [&](const Domain& domain) {
    return !domain.reference && ClockOf(input, domain).method == ClockMethod::kEnds;
  });
  if (coarse) {
    input.Notify("clock",
                 "clocks found by 'ends' are coarse: their hosts never arrived last, or shared only long collectives, "
                 "so the collectives were assumed to end at the same time on all members");
  }
}

}  // namespace

report::Clock ClockView(const ViewInput& input) {
  const Clocks clocks = CollectClocks(input);
  report::Clock view;
  if (clocks.components.size() == 1) view.reference_host = TextIfAny(clocks.components.front().reference_host);
  for (size_t i = 0; i < clocks.components.size(); ++i) view.components.push_back(ComponentRow(input, clocks, i));
  for (const Domain& domain : clocks.domains) view.hosts.push_back(DomainRow(input, clocks, domain));
  NotifyOfClocks(input, clocks);
  return view;
}

}  // namespace lockstep
