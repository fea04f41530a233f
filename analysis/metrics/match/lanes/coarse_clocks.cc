#include "analysis/metrics/match/lanes/coarse_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/lanes/common_marks.h"

namespace lockstep {
namespace {

constexpr int64_t kNearNs = 50'000'000;
constexpr int64_t kFarNs = 5'000'000'000;
constexpr size_t kFewDomains = 32;    // of more only those are tried that have something in common
constexpr size_t kMarkedRows = 128;   // lanes this long show it
constexpr size_t kMaxLanePairs = 24;  // tried for one pair of domains, fewer when there are many
constexpr size_t kAllLanePairs = 8'192;
constexpr size_t kFarLanePairs = 4;
constexpr int64_t kFineLinkDeviationNs = 1'000;  // no need to look further
constexpr int64_t kMinLinkSigmaNs = 1'000;
// Short lanes: several pairs of them that share no lane, each close to what one pair would need, all of one offset.
constexpr size_t kWitnesses = 3;
constexpr double kWitnessExponent = 25;
constexpr double kWitnessCoverage = 0.85;
constexpr int64_t kWitnessDeviationNs = 1'500;
constexpr int64_t kWitnessApartNs = 10'000;
// Lanes beside those of a link, on the same clocks.
constexpr int64_t kBesideNs = 20'000;
constexpr size_t kBesideSample = 2'048;
constexpr double kBesideCoverage = 0.8;
constexpr int64_t kFineModelNs = 5'000;  // an alignment this sure needs no lanes
constexpr int kModelKnots = 65;

// Where to seek the offset of two lanes.
struct Search {
  int64_t expected_ns = 0;
  int64_t reach_ns = 0;
};

struct LanePair {
  size_t x = 0;
  size_t y = 0;
  Search search;
};

class Placer {
 public:
  Placer(const std::vector<RankLane>& lanes, const ClockModel& model, size_t ranks, Executor& executor)
      : lanes_(lanes),
        model_(model),
        ranks_(ranks),
        executor_(executor),
        by_domain_(static_cast<size_t>(model.domains())) {
    for (size_t l = 0; l < lanes.size(); ++l) {
      if (!lanes[l].events.empty()) by_domain_[DomainOf(l)].push_back(l);
    }
    FindRoles();
    cap_.resize(lanes.size());
    executor_.ParallelFor(lanes.size(), [&](size_t l) { cap_[l] = CapOf(lanes[l].events); });
    for (size_t r = ranks; r-- > 0;) {
      lowest_[static_cast<size_t>(model.DomainOf(static_cast<int32_t>(r)).value)] = static_cast<int32_t>(r);
    }
    for (const auto& [domain, rank] : lowest_) by_rank_.push_back(domain);
    std::sort(by_rank_.begin(), by_rank_.end(), [&](size_t a, size_t b) { return lowest_.at(a) < lowest_.at(b); });
  }

  ClockModel Run() {
    placed_.assign(by_domain_.size(), false);
    offset_.resize(by_domain_.size());
    sigma_.assign(by_domain_.size(), 0);
    component_.assign(by_domain_.size(), -1);
    const size_t pairs = by_domain_.size() * by_domain_.size() / 2 + 1;
    limit_ = std::clamp<size_t>(kAllLanePairs / pairs, 2, kMaxLanePairs);
    if (by_domain_.size() > kFewDomains) FindProspects();
    for (const size_t first : by_rank_) {
      if (placed_[first]) continue;
      Place(first, static_cast<int32_t>(first), {}, 0);
      Grow(first);
    }
    return Model();
  }

 private:
  [[nodiscard]] size_t DomainOf(size_t lane) const {
    return static_cast<size_t>(model_.DomainOf(lanes_[lane].rank_index).value);
  }

  void Place(size_t domain, int32_t component, std::vector<OffsetKnot> knots, int64_t sigma_ns) {
    sigma_[domain] = sigma_ns;
    placed_[domain] = true;
    component_[domain] = component;
    offset_[domain] = std::move(knots);
    order_.push_back(domain);
  }

  // Lanes of one rank by the number of their events: the busiest is 0.
  void FindRoles() {
    role_.resize(lanes_.size());
    std::map<int32_t, std::vector<size_t>> of_rank;
    for (size_t l = 0; l < lanes_.size(); ++l) of_rank[lanes_[l].rank_index].push_back(l);
    for (auto& [rank, lanes] : of_rank) {
      std::stable_sort(lanes.begin(), lanes.end(),
                       [&](size_t x, size_t y) { return lanes_[x].events.size() > lanes_[y].events.size(); });
      for (size_t role = 0; role < lanes.size(); ++role) role_[lanes[role]] = role;
    }
  }

  void FindProspects() {
    std::vector<size_t> domain_of(lanes_.size());
    for (size_t l = 0; l < lanes_.size(); ++l) domain_of[l] = DomainOf(l);
    prospects_.emplace(FindCommonMarks(lanes_, domain_of, executor_));
  }

  // Everything that can be connected to `first`, breadth first; far offsets are sought when no near one is left.
  void Grow(size_t first) {
    const size_t near_limit = limit_;
    for (const int64_t reach : {kNearNs, kFarNs}) {
      if (reach == kFarNs) limit_ = std::min(limit_, kFarLanePairs);
      for (size_t at = PositionOf(first); at < order_.size(); ++at) Connect(order_[at], reach);
    }
    limit_ = near_limit;
  }

  [[nodiscard]] size_t PositionOf(size_t domain) const {
    return static_cast<size_t>(std::find(order_.begin(), order_.end(), domain) - order_.begin());
  }

  void Connect(size_t a, int64_t reach) {
    std::vector<size_t> open;
    for (const size_t d : by_rank_) {
      if (!placed_[d]) open.push_back(d);
    }
    std::vector<std::optional<Link>> links(open.size());
    executor_.ParallelFor(open.size(), [&](size_t i) { links[i] = LinkOf(a, open[i], reach); });
    for (size_t i = 0; i < open.size(); ++i) {
      if (links[i]) Place(open[i], component_[a], Chain(a, links[i]->knots), sigma_[a] + links[i]->sigma_ns);
    }
  }

  struct Link {
    std::vector<OffsetKnot> knots;  // a - b
    int64_t sigma_ns = 0;
  };

  // A time in the middle of a domain's lanes.
  [[nodiscard]] int64_t MiddleOf(size_t domain) const {
    if (by_domain_[domain].empty()) return 0;
    const std::vector<LaneEvent>& events = lanes_[by_domain_[domain].front()].events;
    return events[events.size() / 2].end_ns;
  }

  [[nodiscard]] std::optional<Link> LinkOf(size_t a, size_t b, int64_t reach) const {
    const auto told = model_.PairUncertainty(lowest_.at(a), lowest_.at(b), AlignedTime{MiddleOf(a)});
    if (told && told->ns <= kFineModelNs) return Link{FromModel(a, b), told->ns / 2};
    std::optional<Link> found = Sought(a, b, reach);
    if (!found && told) return Link{FromModel(a, b), told->ns / 2};
    return found;
  }

  // Among many domains lanes that are long enough to show common marks are tried only where there are some, and far off
  // only at their offset.
  [[nodiscard]] std::optional<Search> SearchOf(size_t x, size_t y, int64_t reach_ns) const {
    const bool telling = std::min(lanes_[x].events.size(), lanes_[y].events.size()) >= kMarkedRows && !lanes_[x].told;
    if (!prospects_ || !telling) return Search{0, reach_ns};
    const std::optional<int64_t> marked = prospects_->OffsetOf(DomainOf(x), DomainOf(y));
    if (!marked || std::abs(*marked) > kFarNs) return std::nullopt;
    if (reach_ns == kNearNs) return Search{0, reach_ns};
    if (2 * std::abs(*marked) < kNearNs) return std::nullopt;
    return Search{*marked, kNearNs};
  }

  [[nodiscard]] std::optional<Link> Sought(size_t a, size_t b, int64_t reach_ns) const {
    // The lanes whose ends scatter least: others may only run in lockstep.
    std::optional<Witness> best;
    std::vector<Witness> witnesses;
    for (const auto& [x, y, search] : PairsOf(a, b, reach_ns)) {
      std::optional<LaneShift> shift = Shift(x, y, search.expected_ns, search.reach_ns);
      if (shift && IsWitness(*shift)) witnesses.push_back({x, y, *shift});
      if (!shift || !shift->accepted || (best && best->shift.deviation_ns <= shift->deviation_ns)) continue;
      Witness found{x, y, *std::move(shift)};
      if (!HoldsTogether(found)) continue;
      best = std::move(found);
      if (best->shift.deviation_ns <= kFineLinkDeviationNs) break;
    }
    if (!best) best = Agreed(witnesses, MiddleOf(a));
    if (!best) return std::nullopt;
    return Link{std::move(best->shift.knots), std::max(kMinLinkSigmaNs, best->shift.deviation_ns / 2)};
  }

  [[nodiscard]] std::optional<LaneShift> Shift(size_t x, size_t y, int64_t expected_ns, int64_t reach_ns) const {
    return FindLaneShift(lanes_[x].events, lanes_[y].events,
                         {expected_ns, reach_ns, std::max(lanes_[x].tick_ns, lanes_[y].tick_ns),
                          lanes_[x].sole && lanes_[y].sole, std::max(cap_[x], cap_[y])});
  }

  // A pair of lanes that alone is too short to settle the offset.
  struct Witness {
    size_t x = 0;
    size_t y = 0;
    LaneShift shift;
  };

  static bool IsWitness(const LaneShift& shift) {
    return shift.jumps == 0 && shift.exponent >= kWitnessExponent && shift.deviation_ns <= kWitnessDeviationNs &&
           shift.coverage >= kWitnessCoverage && shift.common_rate >= 1;
  }

  // Pairs of lanes of different ranks on both sides that say the same: the one whose ends scatter least.
  [[nodiscard]] std::optional<Witness> Agreed(const std::vector<Witness>& witnesses, int64_t t_ns) const {
    std::optional<Witness> best;
    for (const Witness& w : witnesses) {
      std::set<size_t> lanes;
      size_t agreeing = 0;
      for (const Witness& other : witnesses) {
        if (std::abs(At(w.shift.knots, t_ns) - At(other.shift.knots, t_ns)) > kWitnessApartNs) continue;
        if (lanes.count(other.x) + lanes.count(other.y) > 0) continue;
        lanes.insert({other.x, other.y});
        ++agreeing;
      }
      if (agreeing < kWitnesses || (best && best->shift.deviation_ns <= w.shift.deviation_ns)) continue;
      if (HoldsTogether(w)) best = w;
    }
    return best;
  }

  // Whether the lanes of a link end together anew each time, at its offset. Where their rows are too few to tell, the
  // lanes that end with them on the same clocks are looked at as well. If that does not tell either, they must be most
  // of the shorter lane: of two long ones that run in lockstep, some ends will come close for a while at some offset.
  [[nodiscard]] bool HoldsTogether(const Witness& link) const {
    if (lanes_[link.x].sole && lanes_[link.y].sole) return true;  // nothing else can be meant
    WanderPool pool;
    pool.Add(link.x, link.y, link.shift.end_wander);
    if (pool.Verdict() != Wandering::kUntold) return pool.Verdict() == Wandering::kNone;
    const size_t shorter = std::min(lanes_[link.x].events.size(), lanes_[link.y].events.size());
    const std::vector<size_t> beside_x = EndingWith(link.x);
    const std::vector<size_t> beside_y = EndingWith(link.y);
    const int64_t offset = link.shift.knots[link.shift.knots.size() / 2].offset_ns;
    for (size_t n = 0; n < std::min(beside_x.size(), beside_y.size()); ++n) {
      const auto shift = Shift(beside_x[n], beside_y[n], offset, kBesideNs);
      if (shift && shift->coverage >= kBesideCoverage) pool.Add(beside_x[n], beside_y[n], shift->end_wander);
    }
    if (pool.Verdict() != Wandering::kUntold) return pool.Verdict() == Wandering::kNone;
    return 2 * static_cast<size_t>(link.shift.pairs) >= shorter;
  }

  // Other lanes on the clock of one that end with it anew each time.
  [[nodiscard]] std::vector<size_t> EndingWith(size_t lane) const {
    std::vector<size_t> out;
    for (const size_t l : by_domain_[DomainOf(lane)]) {
      if (lanes_[l].rank_index == lanes_[lane].rank_index || lanes_[l].cls != lanes_[lane].cls) continue;
      const auto shift = CompareLanes(lanes_[lane].events, lanes_[l].events,
                                      {kBesideNs, kBesideSample, true, false, true, std::max(cap_[lane], cap_[l])});
      if (!shift || shift->coverage < kBesideCoverage) continue;
      WanderPool pool;
      pool.Add(lane, l, shift->end_wander);
      if (pool.Verdict() == Wandering::kNone) out.push_back(l);
    }
    return out;
  }

  // A pair of lanes among those that may be tried.
  struct RankedPair {
    LanePair lanes;
    bool unequal = false;  // one has less than half of the other's rows
    bool untold = false;
    int32_t apart = 0;  // their positions
    size_t rows = 0;    // of the shorter one
    size_t turn = 0;    // number among the pairs of its role

    [[nodiscard]] auto Unlikely() const {
      return std::tuple(unequal, untold, apart, -static_cast<int64_t>(rows), lanes.x, lanes.y);
    }
    [[nodiscard]] auto InTurn() const { return std::tuple(unequal, untold, turn); }
  };

  // The lane pairs worth trying, the likeliest first: of each role of a lane as many as of the others, since the
  // busiest lanes of two hosts need share nothing.
  [[nodiscard]] std::vector<LanePair> PairsOf(size_t a, size_t b, int64_t reach_ns) const {
    std::vector<RankedPair> ranked = RankedPairs(a, b, reach_ns);
    std::map<std::tuple<bool, bool, size_t>, size_t> seen;  // by role
    for (RankedPair& it : ranked) it.turn = seen[{it.unequal, it.untold, role_[it.lanes.x]}]++;
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const RankedPair& p, const RankedPair& q) { return p.InTurn() < q.InTurn(); });
    if (ranked.size() > limit_) ranked.resize(limit_);
    std::vector<LanePair> out;
    for (const RankedPair& it : ranked) out.push_back(it.lanes);
    return out;
  }

  // All that may be tried, the likeliest first.
  [[nodiscard]] std::vector<RankedPair> RankedPairs(size_t a, size_t b, int64_t reach_ns) const {
    std::map<uint64_t, std::vector<size_t>> of_class;
    for (const size_t y : by_domain_[b]) of_class[lanes_[y].cls].push_back(y);
    std::vector<RankedPair> out;
    for (const size_t x : by_domain_[a]) {
      for (const size_t y : of_class[lanes_[x].cls]) {
        const std::optional<Search> search = SearchOf(x, y, reach_ns);
        if (!search) continue;
        const auto [rows, more] = std::minmax({lanes_[x].events.size(), lanes_[y].events.size()});
        const int32_t apart = std::abs(lanes_[x].position - lanes_[y].position);
        out.push_back({{x, y, *search}, 2 * rows < more, !lanes_[x].told, apart, rows});
      }
    }
    std::sort(out.begin(), out.end(),
              [](const RankedPair& p, const RankedPair& q) { return p.Unlikely() < q.Unlikely(); });
    return out;
  }

  // What an earlier alignment says, as knots over the time that both have lanes in.
  [[nodiscard]] std::vector<OffsetKnot> FromModel(size_t a, size_t b) const {
    int64_t from = INT64_MAX;
    int64_t to = INT64_MIN;
    for (const size_t l : by_domain_[a]) {
      from = std::min(from, lanes_[l].events.front().end_ns);
      to = std::max(to, lanes_[l].events.back().end_ns);
    }
    std::vector<OffsetKnot> out;
    if (from > to) return {{0, 0}};
    for (int k = 0; k < kModelKnots; ++k) {
      const int64_t t = from + (to - from) / (kModelKnots - 1) * k;
      if (!out.empty() && out.back().t_ns >= t) continue;
      const AlignedTime aligned = Aligned(a, t);
      const int64_t there = model_.ToLocal(lowest_.at(b), aligned).ns - model_.BiasOf(lowest_.at(b), LocalTime{t});
      out.push_back({t, t - there});
    }
    return out;
  }

  [[nodiscard]] AlignedTime Aligned(size_t domain, int64_t local) const {
    const int32_t rank = lowest_.at(domain);
    return AlignedTime{model_.Align(rank, LocalTime{local}).ns + model_.BiasOf(rank, LocalTime{local})};
  }

  static int64_t At(const std::vector<OffsetKnot>& knots, int64_t t) {
    if (knots.empty()) return 0;
    const auto after =
        std::upper_bound(knots.begin(), knots.end(), t, [](int64_t x, const OffsetKnot& k) { return x < k.t_ns; });
    if (after == knots.begin()) return knots.front().offset_ns;
    if (after == knots.end()) return knots.back().offset_ns;
    const OffsetKnot& x = *std::prev(after);
    const double part = static_cast<double>(t - x.t_ns) / static_cast<double>(after->t_ns - x.t_ns);
    return x.offset_ns + static_cast<int64_t>(part * static_cast<double>(after->offset_ns - x.offset_ns));
  }

  // Offset of b against the reference, on b's clock, from that of a and a link a - b.
  [[nodiscard]] std::vector<OffsetKnot> Chain(size_t a, const std::vector<OffsetKnot>& link) const {
    std::vector<OffsetKnot> out;
    for (const OffsetKnot& k : link) {
      OffsetKnot knot{k.t_ns - k.offset_ns, At(offset_[a], k.t_ns) - k.offset_ns};
      // A jump is one of b or of a: on b's clock its two sides may come in either order.
      if (!out.empty()) knot.t_ns = std::max(knot.t_ns, out.back().t_ns);
      out.push_back(knot);
    }
    return out;
  }

  [[nodiscard]] ClockModel Model() const {
    ClockModel out;
    for (size_t r = 0; r < ranks_; ++r) {
      const auto rank = static_cast<int32_t>(r);
      out.SetDomain(rank, model_.DomainOf(rank));
    }
    for (const size_t d : order_) {
      DomainClock clock;
      clock.component = component_[d];
      clock.method = ClockMethod::kEnds;
      for (const OffsetKnot& k : offset_[d]) {
        clock.knots.push_back({k.t_ns, k.offset_ns, k.offset_ns, k.offset_ns, sigma_[d]});
      }
      out.SetDomainClock(DomainId{static_cast<int32_t>(d)}, std::move(clock));
    }
    return out;
  }

  const std::vector<RankLane>& lanes_;
  const ClockModel& model_;
  size_t ranks_;
  Executor& executor_;
  std::vector<std::vector<size_t>> by_domain_;
  std::vector<size_t> role_;          // per lane
  std::vector<int64_t> cap_;          // per lane
  std::map<size_t, int32_t> lowest_;  // domain -> lowest rank index
  std::vector<size_t> by_rank_;       // domains, by their lowest rank
  std::vector<bool> placed_;
  std::vector<std::vector<OffsetKnot>> offset_;
  std::vector<int32_t> component_;
  std::vector<int64_t> sigma_;  // of the offset
  std::vector<size_t> order_;
  size_t limit_ = kMaxLanePairs;
  std::optional<Prospects> prospects_;  // none: every pair of domains is tried
};

}  // namespace

ClockModel FindCoarseClocks(const std::vector<RankLane>& lanes, const ClockModel& model, size_t ranks,
                            Executor& executor) {
  return Placer(lanes, model, ranks, executor).Run();
}

}  // namespace lockstep
