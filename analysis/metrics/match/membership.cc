#include "analysis/metrics/match/membership.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/base/hash128.h"
#include "analysis/metrics/match/exchange_links.h"
#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

constexpr size_t kSample = 400;
constexpr size_t kQuickSample = 48;
constexpr size_t kOverlapPart = 8;  // of a lane's rows, at least, lie where the other one runs
constexpr int64_t kMinPairs = 6;
constexpr int64_t kTellingPairs = 16;  // lanes this long show whether their ranks belong together
constexpr double kMinCoverage = 0.9;
constexpr double kQuickCoverage = 0.75;
constexpr double kQuickCommonRate = 0.9;
constexpr double kMinPeerShare = 0.9;                        // of a set's other lanes that a lane must fit
constexpr std::array<double, 3> kDecoyRatios = {3, 2, 1.5};  // against the best partner, ever more strictly
constexpr int64_t kEvenDeviationNs = 1'000;                  // ends of one collective scatter by as much
constexpr double kEvenRatio = 1.7;                           // between neighbours of one kind
constexpr std::array<double, 3> kSteps = {4, 2.5, kEvenRatio};
constexpr size_t kUnevenPart = 4;            // of a set's lanes may seem to have partners of two kinds
constexpr int64_t kGapRatio = 2;             // against the next better one
constexpr int64_t kFineDeviationNs = 300;    // scatter below this tells nothing
constexpr int64_t kAcrossDeviationNs = 500;  // what a coarse clock adds
constexpr int64_t kMaxDeviationNs = 5'000;
constexpr int64_t kDurationPart = 10;
constexpr int64_t kCentrePart = 8;
constexpr int64_t kInDomainNs = 20'000;
constexpr int64_t kBetweenDomainsNs = 30'000;

constexpr uint64_t kExchangeClass = uint64_t{1} << static_cast<uint32_t>(CollectiveOp::kSendRecv);

uint32_t KindOf(const CollectiveRow& row) {
  const auto op = IsPointToPoint(row.op) ? CollectiveOp::kSendRecv : row.op;
  return static_cast<uint32_t>(op) * 256 + static_cast<uint32_t>(row.dtype);
}

// The operations that make up a lane: those of at least a twentieth of its rows.
uint64_t ClassOf(const std::vector<LaneEvent>& events) {
  constexpr size_t kShare = 20;
  std::map<uint32_t, size_t> count;
  for (const LaneEvent& e : events) ++count[e.kind / 256];
  uint64_t out = 0;
  for (const auto& [op, n] : count) {
    if (n * kShare >= events.size()) out |= uint64_t{1} << (op % 64);
  }
  return out;
}

RankLane MakeLane(int32_t rank_index, const std::vector<uint32_t>& indices, const RankRows& rows) {
  RankLane lane;
  lane.rank_index = rank_index;
  lane.tick_ns = rows.tick_ns;
  for (const uint32_t i : indices) {
    const CollectiveRow& row = rows.rows[i];
    lane.events.push_back({row.start_ns, row.end_ns, KindOf(row)});
  }
  std::stable_sort(lane.events.begin(), lane.events.end(),
                   [](const LaneEvent& a, const LaneEvent& b) { return a.end_ns < b.end_ns; });
  lane.cls = ClassOf(lane.events);
  return lane;
}

// Position of a rank among those of its domain.
int32_t PositionOf(int32_t rank_index, const ClockModel& clock) {
  int32_t position = 0;
  for (int32_t r = 0; r < rank_index; ++r) position += clock.DomainOf(r) == clock.DomainOf(rank_index) ? 1 : 0;
  return position;
}

class Finder {
 public:
  Finder(const PlanLanes& found, const ClockModel& clock, Executor& executor)
      : lanes_(found.lanes), clock_(clock), executor_(executor) {
    aligned_.resize(lanes_.size());
    for (const RankLane& lane : lanes_) {
      std::vector<int64_t> durations;
      for (const LaneEvent& e : lane.events) durations.push_back(e.end_ns - e.start_ns);
      usual_duration_.push_back(UpperMedian(std::move(durations)));
    }
    executor.ParallelFor(lanes_.size(), [&](size_t l) { aligned_[l] = Aligned(lanes_[l]); });
  }

  // Sets of lanes, each a communicator; ascending.
  std::vector<std::vector<size_t>> Run() {
    Compare();
    std::vector<size_t> all(lanes_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    Peers peers(lanes_.size());
    for (const size_t l : all) {
      for (const Edge& e : edges_[l]) peers[l].insert(e.other);
    }
    TakeEven(all, peers, 0);
    std::sort(sets_.begin(), sets_.end());
    return std::move(sets_);
  }

  [[nodiscard]] bool telling() const { return telling_; }

 private:
  struct Edge {
    size_t other = 0;
    int64_t deviation_ns = 0;
  };
  using Peers = std::vector<std::set<size_t>>;  // per lane

  [[nodiscard]] std::vector<LaneEvent> Aligned(const RankLane& lane) const {
    std::vector<LaneEvent> out = lane.events;
    for (LaneEvent& e : out) {
      const int64_t correction = clock_.Correction(lane.rank_index, LocalTime{e.end_ns}).ns;
      e.start_ns -= correction;
      e.end_ns -= correction;
    }
    return out;
  }

  [[nodiscard]] bool Comparable(size_t a, size_t b) const {
    return lanes_[a].cls == lanes_[b].cls && lanes_[a].rank_index != lanes_[b].rank_index &&
           clock_.ComponentOf(lanes_[a].rank_index) == clock_.ComponentOf(lanes_[b].rank_index);
  }

  [[nodiscard]] bool SameDomain(size_t a, size_t b) const {
    return clock_.DomainOf(lanes_[a].rank_index) == clock_.DomainOf(lanes_[b].rank_index);
  }

  // How far the ends of two lanes may lie apart for good: by their clocks, or by their places in a large transfer.
  [[nodiscard]] int64_t UncertaintyOf(size_t a, size_t b) const {
    return std::max(SameDomain(a, b) ? kInDomainNs : kBetweenDomainsNs, usual_duration_[a] / kCentrePart);
  }

  // How far the ends of a lane's partners may scatter.
  [[nodiscard]] int64_t LimitOf(size_t lane) const {
    return std::max(kMaxDeviationNs, usual_duration_[lane] / kDurationPart);
  }

  // Scatter of the ends of two lanes that fit; null if they do not.
  [[nodiscard]] std::optional<int64_t> Fit(size_t a, size_t b, bool& telling) const {
    const int64_t uncertainty = UncertaintyOf(a, b);
    const auto quick = CompareLanes(aligned_[a], aligned_[b], uncertainty, kQuickSample, SameDomain(a, b));
    if (!quick) return std::nullopt;
    telling = telling || quick->pairs >= std::min<int64_t>(kTellingPairs, kQuickSample);
    if (quick->coverage < kQuickCoverage || quick->common_rate < kQuickCommonRate) return std::nullopt;
    int64_t deviation = 0;
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const auto whole = CompareLanes(aligned_[x], aligned_[y], uncertainty, kSample, SameDomain(a, b));
      const auto least = static_cast<int64_t>(std::min(lanes_[x].events.size(), kSample) / kOverlapPart);
      const bool fits = whole && whole->pairs >= std::max(kMinPairs, least) && CoversEnough(*whole) &&
                        whole->common_rate >= kMinCommonRate && whole->deviation_ns <= LimitOf(x);
      if (!fits) return std::nullopt;
      deviation = std::max(deviation, whole->deviation_ns);
    }
    return std::max(deviation, kFineDeviationNs);
  }

  // Short lanes may miss two of each other's rows.
  static bool CoversEnough(const LaneShift& shift) {
    const auto pairs = static_cast<double>(shift.pairs);
    return (1 - shift.coverage) * pairs <= std::max((1 - kMinCoverage) * pairs, std::min(2.0, pairs / 5)) + 1e-6;
  }

  void Compare() {
    edges_.assign(lanes_.size(), {});
    std::vector<std::vector<Edge>> later(lanes_.size());
    std::vector<uint8_t> telling(lanes_.size(), 0);
    executor_.ParallelFor(lanes_.size(), [&](size_t a) {
      bool told = false;
      for (size_t b = a + 1; b < lanes_.size(); ++b) {
        if (!Comparable(a, b)) continue;
        if (const auto deviation = Fit(a, b, told)) later[a].push_back({b, *deviation});
      }
      telling[a] = told ? 1 : 0;
    });
    for (size_t a = 0; a < lanes_.size(); ++a) {
      telling_ = telling_ || telling[a] != 0;
      for (const Edge& e : later[a]) {
        edges_[a].push_back(e);
        edges_[e.other].push_back({a, e.deviation_ns});
      }
    }
  }

  // Takes the parts that all fit each other equally well. The others are split in two ways, and the way that leaves
  // fewer lanes over counts, then that with fewer sets: too close a look takes true sets apart.
  void TakeEven(const std::vector<size_t>& lanes, const Peers& peers, size_t strictness) {
    for (const std::vector<size_t>& part : Parts(lanes, peers)) {
      if (part.size() < 2) continue;
      if (IsClique(part, peers) && IsEven(part)) {
        sets_.push_back(part);
        continue;
      }
      std::vector<std::vector<size_t>> before = std::exchange(sets_, {});
      TakeCloser(part, peers, strictness);
      std::vector<std::vector<size_t>> closer = std::exchange(sets_, {});
      Split(part, 0);
      if (Quality(closer) >= Quality(sets_)) sets_ = std::move(closer);
      sets_.insert(sets_.end(), before.begin(), before.end());
    }
  }

  static std::pair<size_t, std::ptrdiff_t> Quality(const std::vector<std::vector<size_t>>& sets) {
    size_t lanes = 0;
    for (const std::vector<size_t>& set : sets) lanes += set.size();
    return {lanes, -static_cast<std::ptrdiff_t>(sets.size())};
  }

  // Every lane drops those partners whose ends scatter much more than the rest's, if there are any: those that are
  // much worse first.
  void TakeCloser(const std::vector<size_t>& part, const Peers& peers, size_t strictness) {
    const std::set<size_t> among(part.begin(), part.end());
    Peers closer(lanes_.size());
    bool changed = false;
    for (const size_t l : part) {
      closer[l] = CloserOf(l, among, peers[l], kSteps[strictness]);
      changed = changed || closer[l].size() < peers[l].size();
    }
    if (changed) return TakeEven(part, closer, strictness);
    if (strictness + 1 < kSteps.size()) TakeCloser(part, peers, strictness + 1);
  }

  // Peers of a lane before the largest step from one deviation to the next larger one, if there is a large one.
  [[nodiscard]] std::set<size_t> CloserOf(size_t lane, const std::set<size_t>& among, const std::set<size_t>& peers,
                                          double least) const {
    std::vector<Edge> edges;
    for (const Edge& e : edges_[lane]) {
      if (among.count(e.other) == 0 || peers.count(e.other) == 0) continue;
      edges.push_back({e.other, std::max(e.deviation_ns, kEvenDeviationNs)});
    }
    std::stable_sort(edges.begin(), edges.end(),
                     [](const Edge& a, const Edge& b) { return a.deviation_ns < b.deviation_ns; });
    size_t kept = edges.size();
    double widest = least;
    for (size_t i = 1; i < edges.size(); ++i) {
      const double step = static_cast<double>(edges[i].deviation_ns) / static_cast<double>(edges[i - 1].deviation_ns);
      if (step <= widest) continue;
      widest = step;
      kept = i;
    }
    std::set<size_t> out;
    for (size_t i = 0; i < kept; ++i) out.insert(edges[i].other);
    return out;
  }

  // Whether hardly a lane has partners of two kinds, close ones and others that only run in lockstep.
  [[nodiscard]] bool IsEven(const std::vector<size_t>& part) const {
    const std::set<size_t> among(part.begin(), part.end());
    const auto uneven = std::count_if(part.begin(), part.end(), [&](size_t l) { return HasTwoKinds(l, among); });
    return static_cast<size_t>(uneven) * kUnevenPart <= part.size();
  }

  [[nodiscard]] bool HasTwoKinds(size_t lane, const std::set<size_t>& among) const {
    std::vector<std::pair<int64_t, bool>> inside;  // deviation, on another clock
    int64_t outside = LimitOf(lane);
    for (const Edge& e : edges_[lane]) {
      const int64_t deviation = std::max(e.deviation_ns, kEvenDeviationNs);
      if (among.count(e.other) == 0) {
        outside = std::min(outside, deviation);
      } else {
        inside.emplace_back(deviation, !SameDomain(lane, e.other));
      }
    }
    if (inside.empty()) return false;
    std::sort(inside.begin(), inside.end());
    // The farther off the rest is, the less a step among these says.
    const double apart = static_cast<double>(outside) / static_cast<double>(inside.back().first);
    const double ratio = std::clamp(apart / 2, kEvenRatio, kDecoyRatios.front());
    for (size_t i = 1; i < inside.size(); ++i) {
      const auto own = [](const auto& d) { return !d.second; };
      const auto at = inside.begin() + static_cast<std::ptrdiff_t>(i);
      const bool by_clock = std::all_of(inside.begin(), at, own) && std::none_of(at, inside.end(), own);
      if (inside[i].first > Times(by_clock ? kDecoyRatios.front() : ratio, inside[i - 1].first)) return true;
    }
    return false;
  }

  // Takes the communicators among some lanes. Parts that are none are looked at more strictly: a decoy may come close.
  void Split(const std::vector<size_t>& lanes, size_t strictness) {
    const std::set<size_t> among(lanes.begin(), lanes.end());
    Peers peers(lanes_.size());
    for (const size_t l : lanes) peers[l] = PeersOf(l, among, kDecoyRatios[strictness]);
    for (const std::vector<size_t>& part : Parts(lanes, peers)) {
      if (part.size() < 2) continue;
      if (IsClique(part, peers)) {
        sets_.push_back(part);
      } else if (strictness + 1 < kDecoyRatios.size()) {
        Split(part, strictness + 1);
      }
    }
  }

  // The partners of a lane: those on its own clock and those on others, each up to where the ends begin to scatter
  // more than the best ones' do.
  [[nodiscard]] std::set<size_t> PeersOf(size_t lane, const std::set<size_t>& among, double ratio) const {
    std::vector<Edge> own;
    std::vector<Edge> other;
    int64_t best = INT64_MAX / 8;
    for (const Edge& e : edges_[lane]) {
      if (among.count(e.other) == 0) continue;
      (SameDomain(lane, e.other) ? own : other).push_back(e);
      best = std::min(best, e.deviation_ns);
    }
    std::set<size_t> out;
    TakePeers(std::move(own), Times(ratio, best), out);
    TakePeers(std::move(other), Times(ratio, std::max(best, kAcrossDeviationNs)), out);
    return out;
  }

  static int64_t Times(double ratio, int64_t ns) { return static_cast<int64_t>(ratio * static_cast<double>(ns)); }

  static void TakePeers(std::vector<Edge> edges, int64_t limit, std::set<size_t>& out) {
    std::stable_sort(edges.begin(), edges.end(),
                     [](const Edge& a, const Edge& b) { return a.deviation_ns < b.deviation_ns; });
    for (size_t i = 0; i < edges.size() && edges[i].deviation_ns <= limit; ++i) {
      if (i > 0 && edges[i].deviation_ns >= kGapRatio * edges[i - 1].deviation_ns) break;
      out.insert(edges[i].other);
    }
  }

  // Connected parts of what both sides take for a peer.
  [[nodiscard]] std::vector<std::vector<size_t>> Parts(const std::vector<size_t>& lanes, const Peers& peers) const {
    std::vector<size_t> root(lanes_.size());
    std::iota(root.begin(), root.end(), size_t{0});
    const auto find = [&](size_t x) {
      while (root[x] != x) x = root[x] = root[root[x]];
      return x;
    };
    for (const size_t a : lanes) {
      for (const size_t b : peers[a]) {
        if (b < a || peers[b].count(a) == 0) continue;
        const size_t x = find(a);
        const size_t y = find(b);
        root[std::max(x, y)] = std::min(x, y);
      }
    }
    std::map<size_t, std::vector<size_t>> parts;
    for (const size_t l : lanes) parts[find(l)].push_back(l);
    std::vector<std::vector<size_t>> out;
    for (auto& [first, part] : parts) out.push_back(std::move(part));
    return out;
  }

  [[nodiscard]] bool IsClique(const std::vector<size_t>& part, const Peers& peers) const {
    std::set<int32_t> ranks;
    const double needed = kMinPeerShare * static_cast<double>(part.size() - 1);
    return std::all_of(part.begin(), part.end(), [&](size_t l) {
      const auto mutual = std::count_if(part.begin(), part.end(), [&](size_t other) {
        return peers[l].count(other) > 0 && peers[other].count(l) > 0;
      });
      return ranks.insert(lanes_[l].rank_index).second && static_cast<double>(mutual) >= needed;
    });
  }

  const std::vector<RankLane>& lanes_;
  const ClockModel& clock_;
  Executor& executor_;
  std::vector<std::vector<LaneEvent>> aligned_;
  std::vector<int64_t> usual_duration_;  // per lane
  std::vector<std::vector<Edge>> edges_;
  bool telling_ = false;
  std::vector<std::vector<size_t>> sets_;
};

// Whether a set is all of its communicator. Ranks that are not here may belong to any set: then only the largest sets
// that divide the world count as whole.
bool IsWhole(const std::vector<size_t>& set, const std::vector<std::vector<size_t>>& sets, const PlanLanes& found,
             const RankResolution& ranks) {
  if (ranks.missing_ranks.empty() || !ranks.world_size) return ranks.missing_ranks.empty();
  if (static_cast<size_t>(*ranks.world_size) % set.size() != 0) return false;
  return std::all_of(sets.begin(), sets.end(), [&](const std::vector<size_t>& other) {
    return found.lanes[other.front()].cls != found.lanes[set.front()].cls || other.size() <= set.size();
  });
}

std::set<int32_t> RanksOf(const std::vector<size_t>& set, const PlanLanes& found) {
  std::set<int32_t> ranks;
  for (const size_t l : set) ranks.insert(found.lanes[l].rank_index);
  return ranks;
}

size_t RowsOf(const std::vector<size_t>& set, const PlanLanes& found) {
  size_t rows = 0;
  for (const size_t l : set) rows += found.rows[l].size();
  return rows;
}

// A second set of the same ranks with fewer rows, while other hosts whose clocks are not connected have ranks like
// these: most likely the part of a wider communicator that one host sees. Who else is in it cannot be told.
bool MayBeAPart(const std::vector<size_t>& set, const std::vector<std::vector<size_t>>& sets, const PlanLanes& found,
                const ClockModel& clock) {
  const auto component = [&](size_t l) { return clock.ComponentOf(found.lanes[l].rank_index); };
  const bool others = std::any_of(sets.begin(), sets.end(), [&](const std::vector<size_t>& other) {
    return component(other.front()) != component(set.front()) && RowsOf(other, found) == RowsOf(set, found);
  });
  if (!others) return false;
  const std::set<int32_t> ranks = RanksOf(set, found);
  return std::any_of(sets.begin(), sets.end(), [&](const std::vector<size_t>& other) {
    return RowsOf(other, found) > RowsOf(set, found) && RanksOf(other, found) == ranks;
  });
}

CommunicatorPlan PlanOf(const std::vector<size_t>& set, bool whole, const PlanLanes& found,
                        const RankResolution& ranks) {
  CommunicatorPlan plan;
  plan.membership = Membership::kInferred;
  plan.discovered = true;
  plan.info.inferred = true;
  for (const size_t l : set) {
    plan.ranks.push_back(found.lanes[l].rank_index);
    plan.rows.push_back(found.rows[l]);
    plan.info.members.push_back(ranks.ranks[static_cast<size_t>(found.lanes[l].rank_index)].rank);
  }
  plan.info.size = whole ? static_cast<int32_t>(plan.info.members.size()) : -1;
  return plan;
}

// Sets of lanes of nothing but exchanges that hang together through their pairs.
std::vector<std::vector<size_t>> FindExchangers(const PlanLanes& found, const std::set<size_t>& taken,
                                                const ClockModel& clock) {
  std::vector<size_t> number;
  std::vector<ExchangeLane> lanes;
  for (size_t l = 0; l < found.lanes.size(); ++l) {
    if (taken.count(l) > 0 || found.lanes[l].cls != kExchangeClass) continue;
    const int32_t rank = found.lanes[l].rank_index;
    number.push_back(l);
    lanes.push_back({rank, clock.ComponentOf(rank), found.lanes[l].events});
    for (LaneEvent& e : lanes.back().events) {
      const int64_t correction = clock.Correction(rank, LocalTime{e.end_ns}).ns;
      e.start_ns -= correction;
      e.end_ns -= correction;
    }
  }
  std::vector<std::vector<size_t>> out;
  const std::vector<ExchangeLink> links = FindExchangeLinks(lanes);
  for (std::vector<size_t>& set : ConnectedLanes(lanes.size(), links)) {
    // Rows that nobody answers: ranks that are not here, or no pairs at all.
    const bool explained =
        std::all_of(set.begin(), set.end(), [&](size_t l) { return LinkedShare(lanes, links, l) >= kMinCoverage; });
    if (!explained) continue;
    std::set<int32_t> ranks;
    for (size_t& l : set) {
      l = number[l];
      ranks.insert(found.lanes[l].rank_index);
    }
    if (ranks.size() == set.size()) out.push_back(std::move(set));
  }
  return out;
}

// What no communicator took.
CommunicatorPlan RestOf(const PlanLanes& found, const std::set<size_t>& taken) {
  std::map<int32_t, std::vector<uint32_t>> rows;
  for (size_t l = 0; l < found.lanes.size(); ++l) {
    if (taken.count(l) > 0) continue;
    auto& of_rank = rows[found.lanes[l].rank_index];
    of_rank.insert(of_rank.end(), found.rows[l].begin(), found.rows[l].end());
  }
  CommunicatorPlan plan;
  plan.membership = Membership::kUnknown;
  plan.info.inferred = true;
  for (auto& [rank, indices] : rows) {
    std::sort(indices.begin(), indices.end());
    plan.ranks.push_back(rank);
    plan.rows.push_back(std::move(indices));
  }
  return plan;
}

}  // namespace

PlanLanes LanesOf(const CommunicatorPlan& plan, uint64_t plan_number, const std::vector<RankRows>& rows,
                  const ClockModel& clock) {
  const bool told = plan.membership == Membership::kKnown;
  PlanLanes out;
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    const RankRows& of_rank = rows[static_cast<size_t>(plan.ranks[m])];
    std::map<int32_t, std::vector<uint32_t>> by_stream;
    for (const uint32_t i : plan.rows[m]) by_stream[told ? 0 : of_rank.rows[i].stream].push_back(i);
    for (auto& [stream, indices] : by_stream) {
      RankLane lane = MakeLane(plan.ranks[m], indices, of_rank);
      if (told) lane.cls = (uint64_t{1} << 63) | plan_number;
      lane.told = told;
      lane.sole = told || (plan.membership == Membership::kInferred && by_stream.size() == 1);
      lane.position = PositionOf(plan.ranks[m], clock);
      out.lanes.push_back(std::move(lane));
      out.rows.push_back(std::move(indices));
    }
  }
  return out;
}

std::vector<CommunicatorPlan> DiscoverMembership(const CommunicatorPlan& plan, const RankResolution& ranks,
                                                 const std::vector<RankRows>& rows, const ClockModel& clock,
                                                 Executor& executor) {
  if (ranks.missing_ranks.size() > ranks.ranks.size()) return {plan};  // most partners are not here to be found
  const PlanLanes found = LanesOf(plan, 0, rows, clock);
  Finder finder(found, clock, executor);
  std::vector<std::vector<size_t>> sets = finder.Run();
  // Ranks that exchange with neighbours in lockstep look like ranks that exchange with each other.
  std::erase_if(sets, [&](const std::vector<size_t>& set) {
    return set.size() < found.lanes.size() && found.lanes[set.front()].cls == kExchangeClass;
  });
  const std::vector<std::vector<size_t>> all = sets;
  std::erase_if(sets, [&](const std::vector<size_t>& set) { return MayBeAPart(set, all, found, clock); });
  const bool whole = sets.size() == 1 && sets.front().size() == found.lanes.size();
  const bool assumed = plan.membership == Membership::kInferred;
  if (whole && assumed) {
    CommunicatorPlan confirmed = plan;
    confirmed.discovered = true;
    return {std::move(confirmed)};
  }
  // Lanes too short to show anything refute no assumption.
  if (assumed && !finder.telling()) return {plan};
  std::vector<CommunicatorPlan> out;
  std::set<size_t> taken;
  for (const std::vector<size_t>& set : sets) {
    out.push_back(PlanOf(set, IsWhole(set, sets, found, ranks), found, ranks));
    taken.insert(set.begin(), set.end());
  }
  for (const std::vector<size_t>& set : FindExchangers(found, taken, clock)) {
    out.push_back(PlanOf(set, ranks.missing_ranks.empty(), found, ranks));
    out.back().in_pairs = true;
    taken.insert(set.begin(), set.end());
  }
  if (taken.empty() && !assumed) return {plan};
  if (taken.size() < found.lanes.size()) out.push_back(RestOf(found, taken));
  return out;
}

}  // namespace lockstep
