#include "analysis/metrics/clock_align/clock_steps.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/metrics/clock_align/robust.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr double kLeastStepNs = 20'000;
constexpr size_t kFewestStepSamples = 8;
constexpr double kAlikeJumpShare = 0.3;  // jumps may differ by this part of their size

// Series of one kind: the same two domains, and the same of them first where the order says who waits for whom.
using SeriesKey = std::tuple<int32_t, int32_t, ClockRelation, bool>;

struct PairSeries {
  std::vector<Sample> ends;
  std::vector<double> widths;  // of the bounds that single events give
};

// Of the lower domain's clock less the other's, up to a constant. Between sender and receiver what binds them: a
// sender's end says little. `x` comes before `y` in the event: it is the root where there is one.
double Difference(ClockRelation relation, const DomainTimes& x, const DomainTimes& y, bool ordered) {
  double x_less_y = x.mean_end - y.mean_end;
  if (relation == ClockRelation::kOneWay) x_less_y = x.last_start - y.first_end;
  if (relation == ClockRelation::kToOne) x_less_y = x.first_end - y.last_start;
  return ordered ? x_less_y : -x_less_y;
}

std::map<SeriesKey, PairSeries> SeriesOf(const DomainEvents& events) {
  std::map<SeriesKey, PairSeries> out;
  const auto add = [&](const DomainEvent& event, const DomainTimes& x, const DomainTimes& y) {
    const bool ordered = x.domain < y.domain;
    const DomainTimes& a = ordered ? x : y;
    const DomainTimes& b = ordered ? y : x;
    const bool flipped = event.relation != ClockRelation::kAllPairs && !ordered;
    PairSeries& series = out[{a.domain, b.domain, event.relation, flipped}];
    series.ends.push_back({event.t, Difference(event.relation, x, y, ordered)});
    series.widths.push_back(2 * std::min(a.shortest, b.shortest));
  };
  for (const DomainEvent& event : events.events) {
    const DomainTimes* times = &events.times[event.first];
    const bool rooted = event.relation != ClockRelation::kAllPairs;
    for (size_t i = 1; i < event.count; ++i) add(event, times[rooted ? 0 : i - 1], times[i]);
    if (event.count > 2 && !rooted) add(event, times[event.count - 1], times[0]);
  }
  return out;
}

struct PairJump {
  int32_t a = 0;
  int32_t b = 0;
  double t = 0;
  double size = 0;  // of a against b
  double gap = 0;   // typical time between samples

  [[nodiscard]] bool Has(int32_t domain) const { return a == domain || b == domain; }
  [[nodiscard]] int32_t Other(int32_t domain) const { return a == domain ? b : a; }
  [[nodiscard]] double SizeOf(int32_t domain) const { return a == domain ? size : -size; }
};

struct PairJumps {
  std::vector<PairJump> jumps;
  std::map<int32_t, std::set<int32_t>> neighbours;  // pairs long enough to show a jump
};

// A tenth from below: bounds of the shortest events.
double TypicalWidth(std::vector<double> widths) {
  const size_t place = widths.size() / 10;
  return OrderStatistic(std::move(widths), place);
}

bool Alike(const PairJump& x, const PairJump& y, int32_t domain) {
  const double size_x = x.SizeOf(domain);
  const double size_y = y.SizeOf(domain);
  return std::abs(x.t - y.t) <= 4 * std::max(x.gap, y.gap) &&
         std::abs(size_x - size_y) <= kAlikeJumpShare * std::max(std::abs(size_x), std::abs(size_y));
}

// What one kind of shared instances says of a pair.
struct SeriesJumps {
  std::vector<PairJump> jumps;
  std::vector<Sample> samples;  // ascending in t
  bool one_way = false;         // binds one side only

  // By how much its differences are other after this time than before, by a few samples on either side; null: it has
  // too few there.
  [[nodiscard]] std::optional<double> ChangeAt(double t) const {
    constexpr std::ptrdiff_t kFew = 3;
    const auto after =
        std::partition_point(samples.begin(), samples.end(), [&](const Sample& sample) { return sample.t < t; });
    if (after - samples.begin() < kFew || samples.end() - after < kFew) return std::nullopt;
    const auto most = static_cast<std::ptrdiff_t>(kFewestStepSamples);
    const auto median = [](auto first, auto last) {
      std::vector<double> values;
      for (; first != last; ++first) values.push_back(first->y);
      return Median(std::move(values));
    };
    return median(after, after + std::min(most, samples.end() - after)) -
           median(after - std::min(most, after - samples.begin()), after);
  }
};

SeriesJumps SeriesJumpsOf(const SeriesKey& key, const PairSeries& series) {
  const double span = series.ends.back().t - series.ends.front().t;
  const double gap = span / static_cast<double>(series.ends.size());
  const JumpRule rule{std::max(kLeastStepNs, TypicalWidth(series.widths)), 8, kFewestStepSamples};
  SeriesJumps out;
  for (const Jump& jump : FindJumps(series.ends, rule)) {
    out.jumps.push_back({std::get<0>(key), std::get<1>(key), jump.t, jump.size, gap});
  }
  out.samples = series.ends;
  out.one_way = std::get<2>(key) != ClockRelation::kAllPairs;
  return out;
}

// A clock that jumps does so in all that two domains share. What only one kind of it shows is a change of who waits for
// whom: stages of a pipeline do that between its phases. Where the others are silent at that time, what binds both
// sides is believed.
bool IsConfirmed(const PairJump& jump, size_t shown_by, const std::vector<SeriesJumps>& of_series) {
  bool asked = false;
  for (size_t j = 0; j < of_series.size(); ++j) {
    const std::optional<double> change = j == shown_by ? std::nullopt : of_series[j].ChangeAt(jump.t);
    if (!change) continue;
    if (std::abs(*change - jump.size) <= kAlikeJumpShare * std::abs(jump.size)) return true;
    asked = true;
  }
  return !asked && (!of_series[shown_by].one_way || of_series.size() == 1);
}

PairJumps FindPairJumps(const DomainEvents& events) {
  PairJumps out;
  std::map<std::pair<int32_t, int32_t>, std::vector<SeriesJumps>> of_pair;
  for (const auto& [key, series] : SeriesOf(events)) {
    if (series.ends.size() < 2 * kFewestStepSamples) continue;
    const int32_t a = std::get<0>(key);
    const int32_t b = std::get<1>(key);
    out.neighbours[a].insert(b);
    out.neighbours[b].insert(a);
    of_pair[{a, b}].push_back(SeriesJumpsOf(key, series));
  }
  for (const auto& entry : of_pair) {
    const std::vector<SeriesJumps>& of_series = entry.second;
    for (size_t i = 0; i < of_series.size(); ++i) {
      std::copy_if(of_series[i].jumps.begin(), of_series[i].jumps.end(), std::back_inserter(out.jumps),
                   [&](const PairJump& jump) { return IsConfirmed(jump, i, of_series); });
    }
  }
  return out;
}

struct Suspect {
  int32_t domain = -1;
  std::set<int32_t> others;  // whose pairs with the domain jump alike
  double share = 0;          // of all its pairs
  std::vector<PairJump> jumps;
};

Suspect SuspectOf(const PairJumps& found, int32_t domain, const PairJump& seed) {
  Suspect out;
  out.domain = domain;
  for (const PairJump& jump : found.jumps) {
    if (!jump.Has(domain) || !Alike(jump, seed, domain)) continue;
    out.others.insert(jump.Other(domain));
    out.jumps.push_back(jump);
  }
  out.share = static_cast<double>(out.others.size()) / static_cast<double>(found.neighbours.at(domain).size());
  return out;
}

DomainStep StepOf(const Suspect& suspect) {
  std::vector<double> times;
  std::vector<double> sizes;
  for (const PairJump& jump : suspect.jumps) {
    times.push_back(jump.t);
    sizes.push_back(jump.SizeOf(suspect.domain));
  }
  return {suspect.domain, Median(std::move(times)), Median(std::move(sizes))};
}

// A single pair of a domain that has many others says nothing about it.
std::vector<DomainStep> Attribute(PairJumps found, const DomainEvents& events) {
  std::vector<DomainStep> out;
  const auto rank = [&](const Suspect& s) {
    const int32_t component = events.component[static_cast<size_t>(s.domain)];
    const bool reference = events.reference[static_cast<size_t>(component)] == s.domain;
    return std::tuple(s.others.size(), s.share, !reference, s.domain);
  };
  while (!found.jumps.empty()) {
    Suspect best;
    for (const PairJump& seed : found.jumps) {
      for (int32_t domain : {seed.a, seed.b}) {
        Suspect suspect = SuspectOf(found, domain, seed);
        if (suspect.share < 0.5) continue;
        if (best.domain < 0 || rank(suspect) > rank(best)) best = std::move(suspect);
      }
    }
    if (best.domain < 0) break;
    out.push_back(StepOf(best));
    const PairJump seed = best.jumps.front();
    std::erase_if(found.jumps, [&](const PairJump& j) { return j.Has(best.domain) && Alike(j, seed, best.domain); });
  }
  std::sort(out.begin(), out.end(), [](const DomainStep& x, const DomainStep& y) {
    return std::pair(x.domain, x.t) < std::pair(y.domain, y.t);
  });
  return out;
}

}  // namespace

std::vector<DomainStep> RemoveClockSteps(DomainEvents& events) {
  std::vector<DomainStep> steps = Attribute(FindPairJumps(events), events);
  for (const DomainStep& step : steps) events.RemoveStep(step.domain, step.t, step.size);
  return steps;
}

}  // namespace lockstep
