#include "analysis/metrics/clock_align/clock_align.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/certified_bounds.h"
#include "analysis/metrics/clock_align/clock_steps.h"
#include "analysis/metrics/clock_align/domain_events.h"
#include "analysis/metrics/clock_align/group_clock.h"
#include "analysis/metrics/clock_align/in_domain.h"
#include "analysis/metrics/clock_align/network.h"
#include "analysis/metrics/clock_align/one_way.h"
#include "analysis/metrics/clock_align/record_scatter.h"

namespace lockstep {
namespace {

constexpr double kKnotEveryNs = 10e9;
constexpr size_t kEventsPerKnot = 15;
constexpr size_t kMaxKnots = 400;
constexpr double kMaxDriftErrorPpm = 5;   // half-width of its 95 % interval
constexpr double kCertifiedShare = 0.01;  // of the instances may contradict the rest
constexpr double kRecordNoiseNs = 1'000;
constexpr size_t kMaxPairDomains = 64;

struct Component {
  int32_t id = 0;
  int32_t reference = 0;
  std::vector<int32_t> domains;  // ascending
};

struct Solved {
  Knots knots;
  NetworkClock clock;
  std::vector<GroupClock> groups;
  std::vector<PairClock> pairs;
};

struct DomainNoise {
  std::vector<double> bias_sd_ns;  // typical of the domain's devices, without those set apart
  std::vector<double> bound_ns;    // of a record, for certain bounds
  std::vector<double> jitter_ns;   // 0 = not known
};

std::vector<Component> ComponentsOf(const DomainEvents& events) {
  std::vector<Component> out;
  for (size_t c = 0; c < events.reference.size(); ++c)
    out.push_back({static_cast<int32_t>(c), events.reference[c], {}});
  for (size_t d = 0; d < events.component.size(); ++d) {
    out[static_cast<size_t>(events.component[d])].domains.push_back(static_cast<int32_t>(d));
  }
  return out;
}

DomainNoise DomainNoiseOf(const ClockInput& input, const DeviceClocks& devices, size_t domains) {
  std::vector<std::vector<double>> bias(domains);
  std::vector<std::vector<double>> jitter(domains);
  std::vector<double> tick(domains);
  std::vector<double> largest(domains);
  for (size_t r = 0; r < input.domain.size(); ++r) {
    const auto d = static_cast<size_t>(input.domain[r]);
    if (!devices.apart[r]) bias[d].push_back(devices.bias_sd_ns[r]);
    largest[d] = std::max(largest[d], devices.bias_sd_ns[r]);
    if (devices.jitter_ns[r] > 0) jitter[d].push_back(devices.jitter_ns[r]);
    tick[d] = std::max(tick[d], static_cast<double>(input.tick_ns[r]));
  }
  DomainNoise out;
  for (size_t d = 0; d < domains; ++d) {
    out.bias_sd_ns.push_back(Median(bias[d]));
    out.jitter_ns.push_back(Median(jitter[d]));
    out.bound_ns.push_back(tick[d] + kRecordNoiseNs + 2 * largest[d]);
  }
  return out;
}

Knots PlaceKnots(const DomainEvents& events, const Component& component) {
  double first = INFINITY;
  double last = -INFINITY;
  size_t count = 0;
  for (const DomainEvent& event : events.events) {
    const int32_t domain = events.times[event.first].domain;
    if (events.component[static_cast<size_t>(domain)] != component.id) continue;
    first = std::min(first, event.t);
    last = std::max(last, event.t);
    ++count;
  }
  last = std::max(last, first + 1);
  const double wanted = std::round((last - first) / kKnotEveryNs);
  const size_t most = std::clamp<size_t>(count / kEventsPerKnot, 1, kMaxKnots);
  const auto intervals = static_cast<size_t>(std::clamp(wanted, 1.0, static_cast<double>(most)));
  std::vector<double> times;
  for (size_t j = 0; j <= intervals; ++j) {
    times.push_back(first + (last - first) * static_cast<double>(j) / static_cast<double>(intervals));
  }
  return Knots(std::move(times));
}

Solved SolveComponent(const DomainEvents& events, const Component& component, Executor& executor) {
  Solved out{PlaceKnots(events, component), {}, {}, {}};
  out.groups = MeasureGroups(events, component.id, out.knots, executor);
  out.pairs = MeasurePairs(events, component.id, out.knots, executor);
  out.clock = SolveNetwork(component.domains, component.reference, out.knots.size(), out.groups, out.pairs);
  return out;
}

// A step lies between two events: it moves as the one before it does.
void MoveSteps(const DomainEvents& events, const std::vector<double>& moved, const Component& component,
               std::vector<DomainStep>& steps) {
  for (DomainStep& step : steps) {
    if (events.component[static_cast<size_t>(step.domain)] != component.id) continue;
    double shift = 0;
    for (size_t e = 0; e < events.events.size() && events.events[e].t <= step.t; ++e) {
      const int32_t domain = events.times[events.events[e].first].domain;
      if (events.component[static_cast<size_t>(domain)] == component.id) shift = moved[e] - events.events[e].t;
    }
    step.t += shift;
  }
}

// Puts the events on the clock of the reference. Returns the largest change.
double MoveToReference(DomainEvents& events, const Component& component, const Solved& solved,
                       std::vector<DomainStep>& steps) {
  std::vector<std::vector<double>> value(events.base_ns.size());
  for (size_t d = 0; d < component.domains.size(); ++d) {
    auto& of_domain = value[static_cast<size_t>(component.domains[d])];
    for (const auto& at_knot : solved.clock.value) of_domain.push_back(at_knot[d]);
  }
  double largest = 0;
  std::vector<double> ends;
  std::vector<double> moved;
  for (const DomainEvent& event : events.events) {
    moved.push_back(event.t);
    if (events.component[static_cast<size_t>(events.times[event.first].domain)] != component.id) continue;
    ends.clear();
    for (uint32_t i = 0; i < event.count; ++i) {
      const DomainTimes& times = events.times[event.first + i];
      ends.push_back(times.mean_end - solved.knots.At(value[static_cast<size_t>(times.domain)], event.t));
    }
    moved.back() = Median(ends);
    largest = std::max(largest, std::abs(moved.back() - event.t));
  }
  MoveSteps(events, moved, component, steps);
  for (size_t e = 0; e < moved.size(); ++e) events.events[e].t = moved[e];
  events.Sort();
  return largest;
}

ClassFigures FiguresOf(const std::vector<GroupClock>& groups) {
  ClassFigures out;
  for (const GroupClock& group : groups) {
    if (group.classes.empty()) continue;
    const size_t classes = std::max(out.scale.size(), group.classes.back() + size_t{1});
    out.scale.resize(classes);
    out.self_duration.resize(classes);
    for (size_t c = 0; c < group.classes.size(); ++c) {
      if (group.class_scale[c] > 0) out.scale[group.classes[c]] = group.class_scale[c];
      if (group.self_duration[c] > 0) out.self_duration[group.classes[c]] = group.self_duration[c];
    }
  }
  return out;
}

// Two-sided: at times last itself in a group of short instances as another one is, or a pair seen from both directions.
ClockMethod MethodOf(int32_t domain, const Solved& solved) {
  constexpr int64_t kTight = 3;
  for (const GroupClock& group : solved.groups) {
    if (group.duration_ns > kBandwidthBoundNs) continue;
    bool own = false;
    bool other = false;
    for (size_t d = 0; d < group.domains.size(); ++d) {
      const bool tight = group.times_last[d] >= kTight;
      own = own || (tight && group.domains[d] == domain);
      other = other || (tight && group.domains[d] != domain);
    }
    if (own && other) return ClockMethod::kBand;
  }
  const bool paired = std::any_of(solved.pairs.begin(), solved.pairs.end(),
                                  [&](const PairClock& p) { return p.two_sided && (p.a == domain || p.b == domain); });
  return paired ? ClockMethod::kBand : ClockMethod::kEnds;
}

class ComponentWriter {
 public:
  ComponentWriter(const DomainEvents& events, const Component& component, const Solved& solved,
                  const CertifiedBounds& bounds, const DomainNoise& noise)
      : events_(events), component_(component), solved_(solved), bounds_(bounds), noise_(noise) {
    for (size_t d = 0; d < component_.domains.size(); ++d) {
      if (component_.domains[d] == component_.reference) reference_ = d;
    }
    for (size_t d = 0; d < component_.domains.size(); ++d) by_uneven_ends_.push_back(IsPlacedByUnevenEnds(d));
    least_scale_ = kRecordNoiseNs;
    for (const GroupClock& group : solved_.groups) {
      if (group.noise_ns > 0) least_scale_ = std::min(least_scale_, group.noise_ns);
    }
  }

  void Write(const std::vector<DomainStep>& steps, ClockModel& model) const {
    for (size_t d = 0; d < component_.domains.size(); ++d) {
      model.SetDomainClock(DomainId{component_.domains[d]}, ClockOf(d, steps));
    }
    if (component_.domains.size() > kMaxPairDomains) return;
    for (size_t a = 0; a < component_.domains.size(); ++a) {
      for (size_t b = a + 1; b < component_.domains.size(); ++b) WritePair(a, b, model);
    }
  }

 private:
  [[nodiscard]] double BiasVariance(size_t d) const {
    const double sd = noise_.bias_sd_ns[static_cast<size_t>(component_.domains[d])];
    return sd * sd;
  }

  // Who is never last is placed where its ends meet those of the others. In uneven exchanges they do not meet: only
  // what is certified is known.
  [[nodiscard]] bool IsPlacedByUnevenEnds(size_t d) const {
    const int32_t domain = component_.domains[d];
    return d != reference_ && events_.even[static_cast<size_t>(domain)] == 0 &&
           MethodOf(domain, solved_) == ClockMethod::kEnds;
  }

  [[nodiscard]] double UnevenVariance(size_t knot, size_t d) const {
    if (!by_uneven_ends_[d]) return 0;
    const double sd = (bounds_.hi[knot][d] - bounds_.lo[knot][d]) / 2 / kNormal95;
    return sd * sd;
  }

  [[nodiscard]] double SigmaOf(size_t knot, size_t a, size_t b) const {
    const double sigma = solved_.clock.Sigma(knot, a, b);
    return std::sqrt(sigma * sigma + BiasVariance(a) + BiasVariance(b) + UnevenVariance(knot, a) +
                     UnevenVariance(knot, b));
  }

  [[nodiscard]] int64_t AlignedOf(double t) const {
    return events_.base_ns[static_cast<size_t>(component_.reference)] + std::llround(t);
  }

  [[nodiscard]] std::vector<double> ValuesOf(size_t d) const {
    std::vector<double> out;
    for (const auto& at_knot : solved_.clock.value) out.push_back(at_knot[d]);
    return out;
  }

  [[nodiscard]] DomainClock ClockOf(size_t d, const std::vector<DomainStep>& steps) const {
    const int32_t domain = component_.domains[d];
    DomainClock out;
    out.component = component_.id;
    out.instances = events_.instances[static_cast<size_t>(domain)];
    out.method = d == reference_ ? ClockMethod::kShared : MethodOf(domain, solved_);
    const double limit = kCertifiedShare * static_cast<double>(out.instances);
    out.certified = bounds_.complete[d] && static_cast<double>(bounds_.contradictory[d]) <= limit;
    const double jitter = noise_.jitter_ns[static_cast<size_t>(domain)];
    out.record_sd_ns = std::llround(jitter > 0 ? std::min(jitter, least_scale_) : least_scale_);
    out.drift_ppm = DriftOf(d);
    AddKnots(d, steps, out);
    return out;
  }

  [[nodiscard]] std::optional<double> DriftOf(size_t d) const {
    if (d == reference_) return 0.0;
    const size_t last = solved_.knots.size() - 1;
    const double span = solved_.knots.time(last) - solved_.knots.time(0);
    const double sigma = std::hypot(solved_.clock.Sigma(0, d, reference_), solved_.clock.Sigma(last, d, reference_));
    if (kNormal95 * sigma / span * 1e6 > kMaxDriftErrorPpm) return std::nullopt;
    return (solved_.clock.value[last][d] - solved_.clock.value[0][d]) / span * 1e6;
  }

  void AddKnots(size_t d, const std::vector<DomainStep>& steps, DomainClock& out) const {
    const int32_t domain = component_.domains[d];
    const int64_t base = events_.base_ns[static_cast<size_t>(domain)];
    const int64_t coarse = base - events_.base_ns[static_cast<size_t>(component_.reference)];
    const std::vector<double> values = ValuesOf(d);
    auto step = std::find_if(steps.begin(), steps.end(), [&](const DomainStep& s) { return s.domain == domain; });
    int64_t stepped = 0;
    for (size_t j = 0; j < solved_.knots.size(); ++j) {
      for (; step != steps.end() && step->domain == domain && step->t <= solved_.knots.time(j); ++step) {
        const int64_t value = std::llround(solved_.knots.At(values, step->t));
        const int64_t size = std::llround(step->size);
        const int64_t before = base + std::llround(step->t) + value + stepped;
        ClockKnot knot = KnotOf(d, j, coarse + stepped);
        knot.offset_ns = coarse + value + stepped;
        knot.t_ns = before + size / 2;
        out.knots.push_back(knot);
        for (int64_t* field : {&knot.offset_ns, &knot.lo_ns, &knot.hi_ns}) *field += size;
        out.knots.push_back(knot);
        out.steps.push_back({before, size});
        stepped += size;
      }
      ClockKnot knot = KnotOf(d, j, coarse + stepped);
      knot.t_ns = base + std::llround(solved_.knots.time(j)) + std::llround(values[j]) + stepped;
      out.knots.push_back(knot);
    }
  }

  [[nodiscard]] ClockKnot KnotOf(size_t d, size_t j, int64_t shift) const {
    ClockKnot out;
    const double lo = bounds_.lo[j][d];
    const double hi = bounds_.hi[j][d];
    const double value = std::clamp(solved_.clock.value[j][d], lo, hi);
    out.offset_ns = shift + std::llround(value);
    out.lo_ns = shift + std::llround(lo);
    out.hi_ns = shift + std::llround(hi);
    out.sigma_ns = d == reference_ ? 0 : std::llround(SigmaOf(j, d, reference_));
    return out;
  }

  void WritePair(size_t a, size_t b, ClockModel& model) const {
    std::vector<OffsetUncertainty> pieces;
    for (size_t j = 0; j < solved_.knots.size(); ++j) {
      const double from = j == 0 ? 0 : (solved_.knots.time(j - 1) + solved_.knots.time(j)) / 2;
      pieces.push_back({j == 0 ? INT64_MIN : AlignedOf(from), std::llround(kNormal95 * SigmaOf(j, a, b))});
    }
    model.SetDomainPair(DomainId{component_.domains[a]}, DomainId{component_.domains[b]}, std::move(pieces));
  }

  const DomainEvents& events_;
  const Component& component_;
  const Solved& solved_;
  const CertifiedBounds& bounds_;
  const DomainNoise& noise_;
  size_t reference_ = 0;
  std::vector<bool> by_uneven_ends_;  // by domain of the component
  double least_scale_ = 0;
};

void SetAlone(const Component& component, int32_t domains, ClockModel& model) {
  DomainClock clock;
  clock.component = component.id;
  clock.method = domains == 1 ? ClockMethod::kShared : ClockMethod::kNone;
  model.SetDomainClock(DomainId{component.reference}, clock);
}

void AlignComponent(DomainEvents& events, const Component& component, std::vector<DomainStep>& steps,
                    const DomainNoise& noise, Executor& executor, ClockSolution& out) {
  constexpr double kSmallMoveNs = 100'000;  // times a rate of 1e-4: 10 ns
  Solved solved = SolveComponent(events, component, executor);
  for (int round = 0; round < 2; ++round) {
    const double moved = MoveToReference(events, component, solved, steps);
    if (moved < kSmallMoveNs) break;
    solved = SolveComponent(events, component, executor);
  }
  const ClassFigures classes = FiguresOf(solved.groups);
  std::vector<double> bound;
  for (int32_t d : component.domains) bound.push_back(noise.bound_ns[static_cast<size_t>(d)]);
  const BoundsInput input{events, component.id, solved.knots, solved.clock, classes, bound};
  const CertifiedBounds bounds = CertifyBounds(input, executor);
  out.suspicious.insert(out.suspicious.end(), bounds.suspicious.begin(), bounds.suspicious.end());
  ComponentWriter(events, component, solved, bounds, noise).Write(steps, out.model);
}

// The uncertainty of comparing with a scattered device of the same domain holds its scatter.
void WidenPairs(const ClockInput& input, const std::vector<double>& excess, size_t device, ClockModel& model) {
  const auto rank = static_cast<int32_t>(device);
  for (size_t other = 0; other < excess.size(); ++other) {
    const auto other_rank = static_cast<int32_t>(other);
    if (other == device || model.DomainOf(other_rank) != model.DomainOf(rank)) continue;
    const int64_t least = std::llround(kNormal95 * std::hypot(excess[device], excess[other]));
    if (model.ClockUncertainty(rank, other_rank)->ns >= least) continue;
    model.SetPair(rank, other_rank, least, static_cast<int64_t>(input.instances.size()));
  }
}

// A device whose records scatter about its own clock says so in the uncertainty of every comparison with its domain.
void StateScatter(const ClockInput& input, ClockModel& model, Executor& executor) {
  const std::vector<double> excess = ExcessScatter(input, model, executor);
  for (size_t r = 0; r < excess.size(); ++r) {
    if (excess[r] <= 0) continue;
    const DomainId domain = model.DomainOf(static_cast<int32_t>(r));
    DomainClock clock = model.ClockOf(domain);
    clock.record_sd_ns = std::max<int64_t>(clock.record_sd_ns, std::llround(excess[r]));
    clock.certified = false;
    model.SetDomainClock(domain, std::move(clock));
    WidenPairs(input, excess, r, model);
  }
}

}  // namespace

ClockSolution AlignClocks(const ClockInput& input, Executor& executor) {
  ClockSolution out;
  for (size_t r = 0; r < input.domain.size(); ++r) {
    out.model.SetDomain(static_cast<int32_t>(r), DomainId{input.domain[r]});
  }
  const DeviceClocks devices = MeasureInDomain(input, executor, out.model);
  const int32_t domains = out.model.domains();
  DomainEvents events = ReduceToDomains(input, devices, domains);
  std::vector<DomainStep> steps = RemoveClockSteps(events);
  const DomainNoise noise = DomainNoiseOf(input, devices, static_cast<size_t>(domains));
  for (const Component& component : ComponentsOf(events)) {
    if (component.domains.size() == 1) {
      SetAlone(component, domains, out.model);
    } else {
      AlignComponent(events, component, steps, noise, executor, out);
    }
  }
  StateScatter(input, out.model, executor);
  std::sort(out.suspicious.begin(), out.suspicious.end());
  return out;
}

}  // namespace lockstep
