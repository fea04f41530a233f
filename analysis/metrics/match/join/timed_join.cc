#include "analysis/metrics/match/join/timed_join.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kWideEndNs = 50'000;
constexpr int64_t kNarrowEndNs = 10'000;
constexpr int64_t kMaxSlackNs = 5'000;
constexpr int64_t kWidePart = 4;  // no end is further off than this part of it

// What a pass assumes of a slot.
struct Limits {
  int64_t centre_ns = 0;  // how much later than the others' its ends lie
  int64_t slack_ns = 0;   // of the common point
  int64_t end_ns = 0;     // of the distance of ends, whatever the duration
  double end_scale = 0;   // the same in units of EndScaleOf
};

struct Pick {
  size_t slot = 0;
  size_t at = 0;
};

struct Group {
  std::vector<Pick> picks;  // by slot
  int64_t end_ns = 0;       // middle of the ends
  int64_t shortest_ns = 0;
};

class Sweep {
 public:
  Sweep(const JoinInput& input, const std::vector<TimedSlot>& slots, std::vector<Limits> limits)
      : input_(input),
        slots_(slots),
        limits_(std::move(limits)),
        told_(input.plan.membership == Membership::kKnown),
        head_(slots.size(), 0) {
    for (size_t s = 0; s < slots_.size(); ++s) Push(s);
  }

  std::vector<Group> Run() {
    std::vector<Group> out;
    while (!queue_.empty()) {
      const auto [end, slot, at] = queue_.top();
      queue_.pop();
      if (at != head_[slot]) continue;
      Gather(slot, end, out);
    }
    return out;
  }

  [[nodiscard]] int64_t EndOf(size_t s, size_t at) const { return slots_[s].rows[at].end_ns - limits_[s].centre_ns; }
  // End of the row after one; null if there is none.
  [[nodiscard]] std::optional<int64_t> EndAfter(const Pick& p) const {
    if (p.at + 1 >= slots_[p.slot].rows.size()) return std::nullopt;
    return EndOf(p.slot, p.at + 1);
  }
  [[nodiscard]] std::optional<int64_t> EndBefore(const Pick& p) const {
    if (p.at == 0) return std::nullopt;
    return EndOf(p.slot, p.at - 1);
  }

 private:
  using Entry = std::tuple<int64_t, size_t, size_t>;  // end, slot, index

  void Push(size_t s) {
    if (head_[s] < slots_[s].rows.size()) queue_.emplace(EndOf(s, head_[s]), s, head_[s]);
  }

  void Consume(const Pick& pick) {
    head_[pick.slot] = pick.at + 1;
    Push(pick.slot);
  }

  [[nodiscard]] const CollectiveRow& Row(const Pick& p) const { return RowAt(input_, slots_[p.slot].rows[p.at].ref); }
  [[nodiscard]] int64_t Duration(const Pick& p) const {
    const TimedRow& row = slots_[p.slot].rows[p.at];
    return row.end_ns - row.start_ns;
  }

  // Whether a row may be of the instance whose earliest end is the seed's.
  [[nodiscard]] bool Meets(const Pick& seed, int64_t seed_end, const Pick& x) const {
    const Limits& a = limits_[seed.slot];
    const Limits& b = limits_[x.slot];
    const int64_t start = slots_[x.slot].rows[x.at].start_ns - b.centre_ns;
    if (start > seed_end + a.slack_ns + b.slack_ns) return false;
    // Ranks with little to exchange are done long before the others: only that all have started binds them.
    if (MovesUnevenly(Row(seed).op) && MovesUnevenly(Row(x).op)) return SameSignature(Row(seed), Row(x), false);
    const int64_t shortest = std::min(Duration(seed), Duration(x));
    const auto scaled =
        static_cast<int64_t>(std::max(a.end_scale, b.end_scale) * static_cast<double>(EndScaleOf(shortest)));
    // Told members may end as unevenly as uneven messages make them.
    const int64_t part = told_ ? shortest / 2 : std::min(scaled, shortest / kWidePart);
    const int64_t limit = std::max({a.end_ns, b.end_ns, part});
    return EndOf(x.slot, x.at) - seed_end <= limit && SameSignature(Row(seed), Row(x), false);
  }

  [[nodiscard]] std::vector<Pick> Candidates(const Pick& seed, int64_t seed_end) const {
    std::vector<Pick> out;
    for (size_t s = 0; s < slots_.size(); ++s) {
      const Pick x{s, head_[s]};
      if (x.at >= slots_[s].rows.size()) continue;
      if (s == seed.slot || Meets(seed, seed_end, x)) out.push_back(x);
    }
    return out;
  }

  // Middle of the ends, of the member itself left out when there is only one other.
  [[nodiscard]] int64_t MiddleFor(const std::vector<Pick>& picks, const Pick& x, bool next) const {
    std::vector<int64_t> ends;
    for (const Pick& p : picks) {
      if (picks.size() == 2 && p.slot == x.slot) continue;
      const std::optional<int64_t> end = next ? EndAfter(p) : EndOf(p.slot, p.at);
      if (end) ends.push_back(*end);
    }
    return ends.empty() ? INT64_MAX : UpperMedian(std::move(ends));
  }

  enum class Fit { kHere, kEarly, kLate };
  // Early: its next row fits the others better. Late: it fits the others' next rows better.
  [[nodiscard]] Fit FitOf(const Pick& x, int64_t here, int64_t next) const {
    const int64_t end = EndOf(x.slot, x.at);
    const int64_t distance = std::abs(end - here);
    const std::optional<int64_t> after = EndAfter(x);
    if (after && std::abs(*after - here) < distance) return Fit::kEarly;
    if (next != INT64_MAX && std::abs(next - end) < distance) return Fit::kLate;
    return Fit::kHere;
  }

  void Gather(size_t slot, int64_t end, std::vector<Group>& out) {
    const Pick seed{slot, head_[slot]};
    const std::vector<Pick> candidates = Candidates(seed, end);
    std::vector<Pick> kept;
    std::vector<Pick> alone;
    const bool pair = candidates.size() == 2;
    const int64_t here = MiddleFor(candidates, seed, false);
    const int64_t next = MiddleFor(candidates, seed, true);
    for (const Pick& x : candidates) {
      const Fit fit = candidates.size() == 1 ? Fit::kHere
                      : pair                 ? FitOf(x, MiddleFor(candidates, x, false), MiddleFor(candidates, x, true))
                                             : FitOf(x, here, next);
      if (fit == Fit::kHere) kept.push_back(x);
      if (fit == Fit::kEarly || (fit == Fit::kLate && x.slot == slot)) alone.push_back(x);
    }
    for (const Pick& x : alone) Emit({x}, out);
    if (!kept.empty()) Emit(std::move(kept), out);
  }

  void Emit(std::vector<Pick> picks, std::vector<Group>& out) {
    Group group;
    group.shortest_ns = INT64_MAX;
    std::vector<int64_t> ends;
    for (const Pick& p : picks) {
      ends.push_back(EndOf(p.slot, p.at));
      group.shortest_ns = std::min(group.shortest_ns, Duration(p));
      Consume(p);
    }
    group.end_ns = ends.size() == 2 ? ends[0] + (ends[1] - ends[0]) / 2 : UpperMedian(ends);
    group.picks = std::move(picks);
    out.push_back(std::move(group));
  }

  const JoinInput& input_;
  const std::vector<TimedSlot>& slots_;
  std::vector<Limits> limits_;
  bool told_;
  std::vector<size_t> head_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

std::vector<Limits> WideLimits(const std::vector<TimedSlot>& slots) {
  std::vector<Limits> out;
  for (const TimedSlot& slot : slots) {
    out.push_back({0, slot.uncertainty_ns / 2 + slot.tick_ns, kWideEndNs + slot.uncertainty_ns, 1e6});
  }
  return out;
}

// How the ends of a slot lie against the middle of their instances.
struct Residuals {
  std::vector<int64_t> plain;
  std::vector<int64_t> scaled;  // in thousandths of EndScaleOf
};

std::vector<Residuals> MeasureResiduals(const Sweep& sweep, const std::vector<Group>& groups, size_t slots) {
  std::vector<Residuals> out(slots);
  for (const Group& g : groups) {
    if (g.picks.size() < 2) continue;
    for (const Pick& p : g.picks) {
      const int64_t r = sweep.EndOf(p.slot, p.at) - g.end_ns;
      out[p.slot].plain.push_back(r);
      out[p.slot].scaled.push_back(1'000 * std::clamp<int64_t>(r, -1'000'000'000'000, 1'000'000'000'000) /
                                   EndScaleOf(g.shortest_ns));
    }
  }
  return out;
}

int64_t Deviation(std::vector<int64_t> values, int64_t centre) {
  for (int64_t& v : values) v = std::abs(v - centre);
  return UpperMedian(std::move(values));
}

std::vector<Limits> NarrowLimits(const std::vector<TimedSlot>& slots, const std::vector<Residuals>& residuals) {
  constexpr double kTimesDeviation = 10;
  std::vector<Limits> out;
  for (size_t s = 0; s < slots.size(); ++s) {
    const Residuals& r = residuals[s];
    const int64_t reach = std::max<int64_t>(slots[s].uncertainty_ns, 0);
    const int64_t centre = std::clamp(UpperMedian(r.plain), -reach, reach);
    const int64_t deviation = Deviation(r.plain, centre);
    const double scaled = static_cast<double>(Deviation(r.scaled, UpperMedian(r.scaled))) / 1'000.0;
    out.push_back({centre, slots[s].tick_ns + std::min(kMaxSlackNs, 3 * deviation),
                   std::max(kNarrowEndNs, static_cast<int64_t>(kTimesDeviation) * std::min(deviation, kEndScaleNs)),
                   std::max(1.0, kTimesDeviation * scaled)});
  }
  return out;
}

// Share of each slot's rows in instances of several, among those that end while another slot runs; the least of all.
double CoverageOf(const std::vector<TimedSlot>& slots, const std::vector<Group>& groups) {
  std::vector<int64_t> joined(slots.size(), 0);
  for (const Group& g : groups) {
    for (const Pick& p : g.picks) joined[p.slot] += g.picks.size() > 1 ? 1 : 0;
  }
  double coverage = 1;
  for (size_t s = 0; s < slots.size(); ++s) {
    int64_t from = INT64_MAX;
    int64_t to = INT64_MIN;
    for (size_t o = 0; o < slots.size(); ++o) {
      if (o == s || slots[o].rows.empty()) continue;
      from = std::min(from, slots[o].rows.front().start_ns);
      to = std::max(to, slots[o].rows.back().end_ns);
    }
    const auto shared = std::count_if(slots[s].rows.begin(), slots[s].rows.end(),
                                      [&](const TimedRow& r) { return r.end_ns >= from && r.start_ns <= to; });
    if (shared > 0) coverage = std::min(coverage, static_cast<double>(joined[s]) / static_cast<double>(shared));
  }
  return coverage;
}

// How surely no neighbouring row of a member belongs to the group in its place.
double ConfidenceOf(const Sweep& sweep, const Group& g, double deviation_ns) {
  double doubt = 0;
  for (const Pick& p : g.picks) {
    const auto distance = static_cast<double>(std::abs(sweep.EndOf(p.slot, p.at) - g.end_ns));
    for (const std::optional<int64_t>& other : {sweep.EndBefore(p), sweep.EndAfter(p)}) {
      if (!other) continue;
      const auto alternative = static_cast<double>(std::abs(*other - g.end_ns));
      const double exponent = (alternative * alternative - distance * distance) / (2 * deviation_ns * deviation_ns);
      doubt = std::max(doubt, std::exp(-std::max(0.0, exponent)));
    }
  }
  return 1 - doubt;
}

}  // namespace

int64_t SpacingOf(const std::vector<TimedSlot>& slots) {
  int64_t spacing = INT64_MAX;
  for (const TimedSlot& slot : slots) {
    std::vector<int64_t> gaps;
    for (size_t i = 1; i < slot.rows.size(); ++i) gaps.push_back(slot.rows[i].end_ns - slot.rows[i - 1].end_ns);
    if (!gaps.empty()) spacing = std::min(spacing, UpperMedian(std::move(gaps)));
  }
  return spacing == INT64_MAX ? 0 : std::max<int64_t>(0, spacing);
}

TimedJoin JoinByTime(const JoinInput& input, const std::vector<TimedSlot>& slots) {
  Sweep wide(input, slots, WideLimits(slots));
  const std::vector<Group> first = wide.Run();
  Sweep narrow(input, slots, NarrowLimits(slots, MeasureResiduals(wide, first, slots.size())));
  const std::vector<Group> groups = narrow.Run();
  TimedJoin out;
  std::vector<int64_t> deviations;
  for (const Residuals& r : MeasureResiduals(narrow, groups, slots.size())) {
    if (!r.plain.empty()) deviations.push_back(Deviation(r.plain, UpperMedian(r.plain)));
  }
  int64_t tick = 1;
  for (const TimedSlot& slot : slots) tick = std::max(tick, slot.tick_ns);
  const int64_t deviation = std::max(tick, UpperMedian(std::move(deviations)));
  const double sigma = std::max(1'000.0, 1.5 * static_cast<double>(deviation));
  for (const Group& g : groups) {
    TimedCluster cluster;
    for (const Pick& p : g.picks) cluster.members.push_back(slots[p.slot].rows[p.at].ref);
    out.joined += g.picks.size() > 1 ? 1 : 0;
    cluster.confidence = g.picks.size() > 1 ? ConfidenceOf(narrow, g, sigma) : 0;
    out.clusters.push_back(std::move(cluster));
  }
  out.coverage = CoverageOf(slots, groups);
  const double chance = static_cast<double>(SpacingOf(slots)) / 4;
  out.exponent = static_cast<double>(out.joined) * std::log(std::max(1.0, chance / static_cast<double>(deviation)));
  return out;
}

}  // namespace lockstep
