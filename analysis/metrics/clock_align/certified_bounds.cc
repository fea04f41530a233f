#include "analysis/metrics/clock_align/certified_bounds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/band.h"

namespace lockstep {
namespace {

constexpr size_t kAllPairs = 32;  // domains up to which every pair is bounded directly
constexpr double kContradictionNs = 3'000;
constexpr double kLeastOutlierNs = 12'000;
constexpr double kOutlierScales = 8;
constexpr double kUnknownOutlierNs = 50'000;
constexpr double kOddTimes = 1.5;     // so many times the usual contradictions are the doing of the domain itself
constexpr double kImplausible = 0.4;  // of the usual duration of the last arriver: no transfer is that short

using DomainEdge = std::pair<size_t, size_t>;  // indices into NetworkClock::domains, ascending

// Bounds of first less second, as residuals of the estimate, for one stretch between knots.
struct Stretch {
  HalfHull upper{true};
  HalfHull lower{false};
};

struct EdgeBounds {
  std::vector<double> lo;  // per knot
  std::vector<double> hi;
  bool consistent = true;
};

struct EventMember {
  size_t domain = 0;
  double start = 0;  // by the estimated clocks
  double end = 0;
  bool outlier = false;
};

class Certifier {
 public:
  explicit Certifier(const BoundsInput& input) : in_(input) {
    for (size_t d = 0; d < in_.clock.domains.size(); ++d) index_[in_.clock.domains[d]] = d;
    by_domain_.assign(index_.size(), std::vector<double>(in_.knots.size()));
    for (size_t d = 0; d < index_.size(); ++d) {
      for (size_t j = 0; j < in_.knots.size(); ++j) by_domain_[d][j] = in_.clock.value[j][d];
    }
    for (const DomainEvent& event : in_.events.events) {
      if (!index_.contains(in_.events.times[event.first].domain)) continue;
      AddEvent(event);
    }
    Attribute();
    std::sort(out_.suspicious.begin(), out_.suspicious.end());
  }

  CertifiedBounds Certify(Executor& executor) {
    std::vector<std::pair<DomainEdge, std::vector<Stretch>*>> edges;
    for (auto& [edge, stretches] : edges_) edges.emplace_back(edge, &stretches);
    std::vector<EdgeBounds> bounds(edges.size());
    executor.ParallelFor(edges.size(), [&](size_t e) { bounds[e] = Evaluate(edges[e].first, *edges[e].second); });
    out_.complete.assign(index_.size(), true);
    for (size_t j = 0; j < in_.knots.size(); ++j) Chain(j, edges, bounds);
    for (size_t e = 0; e < edges.size(); ++e) {
      if (bounds[e].consistent) continue;
      out_.complete[edges[e].first.first] = false;
      out_.complete[edges[e].first.second] = false;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] double FigureOf(const std::vector<double>& figures, uint32_t cls) const {
    return cls < figures.size() ? figures[cls] : 0;
  }

  std::vector<EventMember> MembersOf(const DomainEvent& event) const {
    std::vector<EventMember> out;
    std::vector<double> ends;
    for (uint32_t i = 0; i < event.count; ++i) {
      const DomainTimes& times = in_.events.times[event.first + i];
      const size_t domain = index_.at(times.domain);
      const double clock = in_.knots.At(by_domain_[domain], event.t);
      out.push_back({domain, times.last_start - clock, times.first_end - clock});
      ends.push_back(times.mean_end - clock);
    }
    if (event.relation != ClockRelation::kAllPairs) return out;
    const double middle = Median(ends);
    const double scale = FigureOf(in_.classes.scale, event.cls);
    const double limit = scale > 0 ? std::max(kLeastOutlierNs, kOutlierScales * scale) : kUnknownOutlierNs;
    for (size_t i = 0; i < out.size(); ++i) out[i].outlier = std::abs(ends[i] - middle) > limit;
    return out;
  }

  void AddEvent(const DomainEvent& event) {
    const std::vector<EventMember> members = MembersOf(event);
    const double least = kImplausible * FigureOf(in_.classes.self_duration, event.cls);
    bool contradicts = false;
    const auto bind = [&](const EventMember& first, const EventMember& then) {
      const bool against = Bind(event, first, then, least);
      if (against) ++against_[std::minmax(first.domain, then.domain)];
      contradicts |= against;
    };
    const size_t n = members.size();
    if (event.relation == ClockRelation::kAllPairs) {
      for (size_t a = 0; a < n; ++a) {
        for (size_t b = a + 1; b < n; b = n <= kAllPairs ? b + 1 : a + 2 * (b - a)) {
          bind(members[a], members[b]);
          bind(members[b], members[a]);
        }
      }
    } else {
      for (size_t i = 1; i < n; ++i) {
        const bool root_first = event.relation == ClockRelation::kOneWay;
        bind(members[root_first ? 0 : i], members[root_first ? i : 0]);
      }
    }
    if (contradicts) out_.suspicious.push_back(event.instance);
  }

  // A domain that contradicts far more than is usual is what the others contradict: it alone is told.
  void Attribute() {
    std::vector<double> total(index_.size());
    for (const auto& [edge, count] : against_) {
      total[edge.first] += static_cast<double>(count);
      total[edge.second] += static_cast<double>(count);
    }
    const double odd = kOddTimes * Median(total);
    out_.contradictory.resize(index_.size());
    for (const auto& [edge, count] : against_) {
      const bool first_odd = total[edge.first] > odd;
      const bool second_odd = total[edge.second] > odd;
      if (first_odd || !second_odd) out_.contradictory[edge.first] += count;
      if (second_odd || !first_odd) out_.contradictory[edge.second] += count;
    }
  }

  // `first` must have started before `then` ended. True if it contradicts the estimate.
  bool Bind(const DomainEvent& event, const EventMember& first, const EventMember& then, double least) {
    const double room = then.end - first.start;
    const size_t knot = in_.knots.Locate(event.t).knot;
    const double tolerance = kContradictionNs + in_.noise_ns[first.domain] + in_.noise_ns[then.domain] +
                             4 * in_.clock.Sigma(knot, first.domain, then.domain);
    if (room < -tolerance) return true;
    if (first.outlier || then.outlier || room < least) return false;
    const DomainEdge edge = std::minmax(first.domain, then.domain);
    auto& stretches = edges_[edge];
    if (stretches.empty()) stretches.resize(in_.knots.size() - 1);
    // theta_first - theta_then is at most... : first's clock ahead by more than the room would deny the order.
    const bool ordered = first.domain < then.domain;
    HalfHull& hull = ordered ? stretches[knot].lower : stretches[knot].upper;
    hull.Add({event.t, ordered ? -room : room});
    return false;
  }

  EdgeBounds Evaluate(const DomainEdge& edge, const std::vector<Stretch>& stretches) const {
    EdgeBounds out;
    const double noise = in_.noise_ns[edge.first] + in_.noise_ns[edge.second];
    for (size_t j = 0; j < in_.knots.size(); ++j) {
      Stretch both = stretches[std::min(j, stretches.size() - 1)];
      if (j > 0 && j < stretches.size()) {
        both.upper.Merge(stretches[j - 1].upper);
        both.lower.Merge(stretches[j - 1].lower);
      }
      const std::optional<BandAt> band = EvaluateBand(both.upper, both.lower, {.t_star = in_.knots.time(j)});
      const double estimate = by_domain_[edge.first][j] - by_domain_[edge.second][j];
      out.lo.push_back(band ? estimate + band->lo - noise : -kUnboundedNs);
      out.hi.push_back(band ? estimate + band->hi + noise : kUnboundedNs);
      out.consistent = out.consistent && (!band || band->repair <= noise);
    }
    return out;
  }

  // Tightest bounds against the reference through any chain of pairs.
  void Chain(size_t j, const std::vector<std::pair<DomainEdge, std::vector<Stretch>*>>& edges,
             const std::vector<EdgeBounds>& bounds) {
    const size_t n = index_.size();
    std::vector<double> lo(n, -kUnboundedNs);
    std::vector<double> hi(n, kUnboundedNs);
    const size_t reference = ReferenceIndex();
    lo[reference] = hi[reference] = 0;
    bool changed = true;
    const auto lower = [&](double& value, double bound) {
      if (bound >= value - 1) return;
      value = bound;
      changed = true;
    };
    for (size_t round = 0; round < n && changed; ++round) {
      changed = false;
      for (size_t e = 0; e < edges.size(); ++e) {
        const auto [a, b] = edges[e].first;
        lower(hi[a], hi[b] + bounds[e].hi[j]);
        lower(hi[b], hi[a] - bounds[e].lo[j]);
        double low_a = -lo[a];
        double low_b = -lo[b];
        lower(low_a, low_b - bounds[e].lo[j]);
        lower(low_b, low_a + bounds[e].hi[j]);
        lo[a] = -low_a;
        lo[b] = -low_b;
      }
    }
    lo[reference] = hi[reference] = 0;
    for (size_t d = 0; d < n; ++d) {
      const bool bounded = lo[d] > -kUnboundedNs / 2 && hi[d] < kUnboundedNs / 2 && lo[d] <= hi[d];
      out_.complete[d] = out_.complete[d] && bounded;
      if (lo[d] > hi[d]) std::swap(lo[d], hi[d]);
    }
    out_.lo.push_back(std::move(lo));
    out_.hi.push_back(std::move(hi));
  }

  [[nodiscard]] size_t ReferenceIndex() const {
    return index_.at(in_.events.reference[static_cast<size_t>(in_.component)]);
  }

  const BoundsInput& in_;
  std::map<int32_t, size_t> index_;
  std::vector<std::vector<double>> by_domain_;  // [domain][knot]
  std::map<DomainEdge, std::vector<Stretch>> edges_;
  std::map<DomainEdge, int64_t> against_;  // contradictions
  CertifiedBounds out_;
};

}  // namespace

CertifiedBounds CertifyBounds(const BoundsInput& input, Executor& executor) {
  return Certifier(input).Certify(executor);
}

}  // namespace lockstep
