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
#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

constexpr size_t kSample = 400;
constexpr size_t kQuickSample = 48;
constexpr int64_t kMinPairs = 6;
constexpr int64_t kTellingPairs = 16;  // lanes this long show whether their ranks belong together
constexpr double kMinCoverage = 0.9;
constexpr double kQuickCoverage = 0.75;
constexpr double kQuickCommonRate = 0.9;
constexpr double kMinPeerShare = 0.9;                        // of a set's other lanes that a lane must fit
constexpr std::array<double, 3> kDecoyRatios = {3, 2, 1.5};  // against the best partner, ever more strictly
constexpr int64_t kGapRatio = 2;                             // against the next better one
constexpr int64_t kFineDeviationNs = 300;                    // scatter below this tells nothing
constexpr int64_t kAcrossDeviationNs = 500;                  // what a coarse clock adds
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
    Split(all, 0);
    std::sort(sets_.begin(), sets_.end());
    return std::move(sets_);
  }

  [[nodiscard]] bool telling() const { return telling_; }

 private:
  struct Edge {
    size_t other = 0;
    int64_t deviation_ns = 0;
  };

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

  // Scatter of the ends of two lanes that fit; null if they do not.
  [[nodiscard]] std::optional<int64_t> Fit(size_t a, size_t b, bool& telling) const {
    const int64_t uncertainty = UncertaintyOf(a, b);
    const auto quick = CompareLanes(aligned_[a], aligned_[b], uncertainty, kQuickSample);
    if (!quick) return std::nullopt;
    telling = telling || quick->pairs >= std::min<int64_t>(kTellingPairs, kQuickSample);
    if (quick->coverage < kQuickCoverage || quick->common_rate < kQuickCommonRate) return std::nullopt;
    int64_t deviation = 0;
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const auto whole = CompareLanes(aligned_[x], aligned_[y], uncertainty, kSample);
      const bool fits = whole && whole->pairs >= kMinPairs && CoversEnough(*whole) &&
                        whole->common_rate >= kMinCommonRate &&
                        whole->deviation_ns <= std::max(kMaxDeviationNs, usual_duration_[x] / kDurationPart);
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

  // Takes the communicators among some lanes. Parts that are none are looked at more strictly: a decoy may come close.
  void Split(const std::vector<size_t>& lanes, size_t strictness) {
    const std::set<size_t> among(lanes.begin(), lanes.end());
    std::vector<std::set<size_t>> peers(lanes_.size());
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
  [[nodiscard]] std::vector<std::vector<size_t>> Parts(const std::vector<size_t>& lanes,
                                                       const std::vector<std::set<size_t>>& peers) const {
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

  [[nodiscard]] bool IsClique(const std::vector<size_t>& part, const std::vector<std::set<size_t>>& peers) const {
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
  const bool whole = sets.size() == 1 && sets.front().size() == found.lanes.size();
  const bool assumed = plan.membership == Membership::kInferred;
  if (whole && assumed) {
    CommunicatorPlan confirmed = plan;
    confirmed.discovered = true;
    return {std::move(confirmed)};
  }
  // Lanes too short to show anything refute no assumption.
  if (assumed ? !finder.telling() : sets.empty()) return {plan};
  std::vector<CommunicatorPlan> out;
  std::set<size_t> taken;
  for (const std::vector<size_t>& set : sets) {
    out.push_back(PlanOf(set, IsWhole(set, sets, found, ranks), found, ranks));
    taken.insert(set.begin(), set.end());
  }
  if (taken.size() < found.lanes.size()) out.push_back(RestOf(found, taken));
  return out;
}

}  // namespace lockstep
