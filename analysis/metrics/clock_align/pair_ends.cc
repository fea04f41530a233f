#include "analysis/metrics/clock_align/pair_ends.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "analysis/metrics/clock_align/group_clock.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

template <typename T>
T Percentile95Of(std::vector<T> values) {
  const size_t place = (values.size() * 95 + 99) / 100 - 1;
  return OrderStatistic(std::move(values), place);
}

constexpr size_t kFewestOfClass = 5;      // instances of a class before its scatter says anything
constexpr double kPositionShare = 0.01;   // of the duration: ends may be so far apart by position alone
constexpr double kMostPosition = 0.18;    // of the shorter duration: 15 % of the transfer, whose end it comes before
constexpr double kUsualBiasNs = 4'000;    // by so much two devices' clocks usually differ at most
constexpr double kAlikeScatterTimes = 3;  // classes up to this many times the least scatter are used together
constexpr double kMostScatterNs = 2'000;  // ... and further ones up to the sd of a bias of which nothing is known

struct ClassScatter {
  double scale = 0;
  uint32_t cls = 0;
};

std::vector<ClassScatter> ByScatter(const std::vector<PairEnd>& ends) {
  std::map<uint32_t, std::vector<double>> distances;
  std::map<uint32_t, std::vector<double>> durations;
  for (const PairEnd& e : ends) {
    distances[e.cls].push_back(static_cast<double>(e.d_ns));
    durations[e.cls].push_back(static_cast<double>(e.shorter_ns));
  }
  std::vector<ClassScatter> out;
  for (const auto& [cls, d] : distances) {
    if (d.size() < kFewestOfClass) continue;
    out.push_back({RobustScale(d, Median(d)) + kPositionShare * Median(durations[cls]), cls});
  }
  std::sort(out.begin(), out.end(), [](const ClassScatter& a, const ClassScatter& b) {
    return std::pair(a.scale, a.cls) < std::pair(b.scale, b.cls);
  });
  return out;
}

struct Sides {
  std::vector<double> a_later;
  std::vector<double> b_later;
};

template <typename Counts>
Sides SidesOf(const std::vector<PairEnd>& ends, double centre, const Counts& counts) {
  Sides out;
  for (const PairEnd& e : ends) {
    const double later = static_cast<double>(e.later_ns) - centre;
    if (e.later_ns == 0 || !counts(e)) continue;
    (later > 0 ? out.a_later : out.b_later).push_back(static_cast<double>(e.d_ns));
  }
  return out;
}

// Usually one class has nearly all: nothing has to be measured to see that there is nothing to choose from.
bool MayHaveChoice(const std::vector<PairEnd>& ends) {
  constexpr size_t kMostCounted = 16;
  std::vector<std::pair<uint32_t, size_t>> counts;
  size_t enough = 0;
  for (const PairEnd& e : ends) {
    auto of_class = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == e.cls; });
    if (of_class == counts.end()) of_class = counts.insert(counts.end(), {e.cls, 0});
    if (++of_class->second == kFewestOfClass) ++enough;
    if (enough > 1 || counts.size() > kMostCounted) return true;
  }
  return false;
}

// The quietest classes that together have enough instances on both sides. Not those whose ends lie farther apart than
// clocks usually do: the side that only they have would be apart by their places.
std::vector<PairEnd> Quietest(const std::vector<PairEnd>& ends) {
  if (!MayHaveChoice(ends)) return ends;
  const std::vector<ClassScatter> classes = ByScatter(ends);
  if (classes.size() <= 1) return ends;
  std::vector<double> all;
  for (const PairEnd& e : ends) all.push_back(static_cast<double>(e.d_ns));
  const double typical = Median(std::move(all));
  std::map<uint32_t, std::pair<size_t, size_t>> sides;  // how often either one was later
  for (const PairEnd& e : ends) {
    if (e.later_ns == 0) continue;
    auto& [a_later, b_later] = sides[e.cls];
    ++(static_cast<double>(e.later_ns) > typical ? a_later : b_later);
  }
  std::map<uint32_t, bool> chosen;
  size_t a = 0;
  size_t b = 0;
  for (const ClassScatter& c : classes) {
    const bool alike = c.scale <= kAlikeScatterTimes * classes.front().scale;
    const bool enough = a >= PairCentre::kEachSide && b >= PairCentre::kEachSide;
    if (!alike && (enough || c.scale > kMostScatterNs)) break;
    chosen[c.cls] = true;
    a += sides[c.cls].first;
    b += sides[c.cls].second;
  }
  std::vector<PairEnd> out;
  std::copy_if(ends.begin(), ends.end(), std::back_inserter(out),
               [&](const PairEnd& e) { return chosen.contains(e.cls); });
  return out;
}

struct LastDurations {
  std::vector<double> a;  // of a where it was the last of all
  std::vector<double> b;
  std::vector<double> all;  // shorter one of the pair, of all instances
};

// By how much the ends of a class may lie apart by place, not by clock: what one device's own duration exceeds the
// other's by where each was the last of all. As far as that says nothing, all that is seen may be the place's, up to a
// share of the duration. Unlike instances of one class, of which each device is last in others, say nothing.
double PositionOf(const LastDurations& own, double centre) {
  constexpr size_t kEnough = 8;
  constexpr double kSignificant = 3;
  constexpr double kLargestShare = 0.2;
  const double duration = Median(own.all);
  const double unmeasured = std::min(kMostPosition * duration, std::abs(centre) + kUsualBiasNs);
  if (own.a.size() < kEnough || own.b.size() < kEnough) return unmeasured;
  const double a = Median(own.a);
  const double b = Median(own.b);
  const double se = kMedianToMean * std::sqrt(Square(RobustScale(own.a, a)) / static_cast<double>(own.a.size()) +
                                              Square(RobustScale(own.b, b)) / static_cast<double>(own.b.size()));
  const double apart = std::abs(a - b);
  if (apart > kLargestShare * duration) return unmeasured;
  return apart > kSignificant * se ? apart + 2 * se : std::min(unmeasured, apart + 2 * se);
}

double PositionOf(const std::vector<PairEnd>& used, double centre) {
  std::map<uint32_t, LastDurations> classes;
  for (const PairEnd& e : used) {
    LastDurations& own = classes[e.cls];
    own.all.push_back(static_cast<double>(e.shorter_ns));
    if (!e.last || e.later_ns == 0 || e.own_ns == 0) continue;
    (static_cast<double>(e.later_ns) > centre ? own.a : own.b).push_back(static_cast<double>(e.own_ns));
  }
  double sum = 0;
  for (const auto& [cls, own] : classes) sum += PositionOf(own, centre) * static_cast<double>(own.all.size());
  return used.empty() ? 0 : sum / static_cast<double>(used.size());
}

double DurationOf(const std::vector<PairEnd>& used) {
  std::vector<double> durations;
  for (const PairEnd& e : used) durations.push_back(static_cast<double>(e.shorter_ns));
  return Median(std::move(durations));
}

void MeasureLast(PairCentre& out) {
  const Sides sides = SidesOf(out.used, out.centre_ns, [](const PairEnd& e) { return e.last; });
  out.a_last = sides.a_later.size();
  out.b_last = sides.b_later.size();
  out.last_a_ns = Median(sides.a_later);
  out.last_b_ns = Median(sides.b_later);
}

}  // namespace

PairCentre CentreOf(const std::vector<PairEnd>& ends, int64_t tick_ns) {
  PairCentre out;
  out.used = Quietest(ends);
  std::vector<double> all;
  for (const PairEnd& e : out.used) all.push_back(static_cast<double>(e.d_ns));
  out.centre_ns = Median(all);
  const Sides sides = SidesOf(out.used, out.centre_ns, [](const PairEnd&) { return true; });
  out.a_later = sides.a_later.size();
  out.b_later = sides.b_later.size();
  if (out.a_later + out.b_later == 0) return out;
  MeasureLast(out);
  out.level_a_ns = Median(sides.a_later);
  out.level_b_ns = Median(sides.b_later);
  const double least = static_cast<double>(tick_ns) / 2;
  const double scale_a = std::max(least, RobustScale(sides.a_later, out.level_a_ns));
  const double scale_b = std::max(least, RobustScale(sides.b_later, out.level_b_ns));
  const auto a_count = static_cast<double>(out.a_later);
  const auto b_count = static_cast<double>(out.b_later);
  if (out.a_later > 0 && out.b_later > 0) {
    out.centre_ns = (out.level_a_ns + out.level_b_ns) / 2;
    out.se_ns = kMedianToMean / 2 * std::sqrt(Square(scale_a) / a_count + Square(scale_b) / b_count);
  }
  out.duration_ns = DurationOf(out.used);
  out.position_ns = PositionOf(out.used, out.centre_ns);
  out.scale_ns = std::sqrt((Square(scale_a) * a_count + Square(scale_b) * b_count) / (a_count + b_count));
  std::vector<double> distances;
  for (double d : sides.a_later) distances.push_back(std::abs(d - out.level_a_ns));
  for (double d : sides.b_later) distances.push_back(std::abs(d - out.level_b_ns));
  out.scatter95_ns = Percentile95Of(std::move(distances));
  return out;
}

std::vector<double> PairCentre::LastEffects() const {
  std::vector<double> out;
  for (const PairEnd& e : used) {
    if (!balanced() || !e.last) continue;
    const double off = static_cast<double>(e.d_ns) - centre_ns;
    out.push_back(static_cast<double>(e.later_ns) > centre_ns ? off : -off);
  }
  return out;
}

void PairCentre::Borrow(double effect_ns, double effect_sd_ns) {
  const size_t count = std::max(a_last, b_last);
  if (balanced() || count < kEachSide) return;
  centre_ns = a_last >= b_last ? last_a_ns - effect_ns : last_b_ns + effect_ns;
  se_ns = std::hypot(kMedianToMean * scale_ns / std::sqrt(static_cast<double>(count)), effect_sd_ns);
  borrowed = true;
}

void PairCentre::Guess(double clock_sd_ns) {
  constexpr double kUsualEffectNs = 1'000;  // of being last on one's own end
  constexpr double kSignificant = 3;
  constexpr double kMostExplained = 4;
  const size_t count = std::max(a_later, b_later);
  if (measured() || count < kEachSide) return;
  const double seen_ns = a_later >= b_later ? level_a_ns : level_b_ns;
  const double sampling_ns = kMedianToMean * scale_ns / std::sqrt(static_cast<double>(count));
  if (std::abs(seen_ns) <= kSignificant * sampling_ns) return;
  const double ends = Square(sampling_ns) + Square(kUsualPosition * duration_ns) + Square(kUsualEffectNs);
  // Farther apart than clocks and places explain: these ends are not of one kind.
  if (std::abs(seen_ns) > kMostExplained * std::sqrt(Square(clock_sd_ns) + ends)) return;
  const double share = Square(clock_sd_ns) / (Square(clock_sd_ns) + ends);
  centre_ns = share * seen_ns;
  se_ns = std::sqrt(share * ends);
  position_ns = 0;  // it is part of the error
  guessed = true;
}

namespace {

// By how much ends lie apart more when a is later than when b is: from neighbouring instances, so that jumps do not
// matter.
double SideEffect(const std::vector<PairEnd>& in_time, double centre) {
  std::vector<double> changes;
  for (size_t i = 1; i < in_time.size(); ++i) {
    const bool a_before = static_cast<double>(in_time[i - 1].later_ns) > centre;
    const bool a_now = static_cast<double>(in_time[i].later_ns) > centre;
    if (a_before == a_now) continue;
    const auto change = static_cast<double>(in_time[i].d_ns - in_time[i - 1].d_ns);
    changes.push_back(a_now ? change : -change);
  }
  return Median(std::move(changes));
}

}  // namespace

std::vector<Jump> JumpsOf(const PairCentre& centre) {
  if (!centre.balanced()) return {};
  const auto earlier = [](const PairEnd& x, const PairEnd& y) { return x.t_ns < y.t_ns; };
  std::vector<PairEnd> sorted;
  if (!std::is_sorted(centre.used.begin(), centre.used.end(), earlier)) {
    sorted = centre.used;
    std::stable_sort(sorted.begin(), sorted.end(), earlier);
  }
  const std::vector<PairEnd>& in_time = sorted.empty() ? centre.used : sorted;
  const double effect = SideEffect(in_time, centre.centre_ns);
  std::vector<Sample> series;
  const int64_t origin = centre.used.front().t_ns;
  for (const PairEnd& e : in_time) {
    const double side = static_cast<double>(e.later_ns) > centre.centre_ns ? effect / 2 : -effect / 2;
    series.push_back({static_cast<double>(e.t_ns - origin), static_cast<double>(e.d_ns) - side});
  }
  constexpr double kLeastJumpNs = 2'000;
  return FindJumps(std::move(series),
                   {.min_size = kLeastJumpNs, .min_sigmas = 8, .min_samples = PairCentre::kEachSide});
}

int64_t Percentile95(const std::vector<PairEnd>& ends, int64_t shift_ns) {
  std::vector<int64_t> distances;
  for (const PairEnd& e : ends) distances.push_back(std::abs(e.d_ns - shift_ns));
  return Percentile95Of(std::move(distances));
}

}  // namespace lockstep
