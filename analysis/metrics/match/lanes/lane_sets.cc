#include "analysis/metrics/match/lanes/lane_sets.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kTellingEvents = 12;  // without a root: who belongs together is told by them alone
constexpr size_t kWholeSample = 400;
constexpr size_t kQuickSample = 48;
constexpr size_t kOverlapPart = 8;  // of a lane's rows, at least, lie where the other one runs
constexpr int64_t kMinFitPairs = 6;
constexpr int64_t kTellingLanePairs = 16;  // lanes this long show whether their ranks belong together
constexpr double kMinFitCoverage = 0.9;
constexpr double kQuickCoverage = 0.75;
constexpr double kQuickCommonRate = 0.9;
constexpr double kMinPeerShare = 0.9;                        // of a set's other lanes that a lane must fit
constexpr std::array<double, 3> kDecoyRatios = {3, 2, 1.5};  // against the best partner, ever more strictly
constexpr int64_t kEvenDeviationNs = 1'000;                  // ends of one collective scatter by as much
constexpr double kEvenRatio = 1.7;                           // between neighbours of one kind
constexpr std::array<double, 3> kSteps = {4, 2.5, kEvenRatio};
constexpr size_t kUnevenPart = 4;                  // of a set's lanes may seem to have partners of two kinds
constexpr int64_t kGapRatio = 2;                   // against the next better one
constexpr int64_t kLeastTellingDeviationNs = 300;  // scatter below this tells nothing
constexpr int64_t kAcrossDeviationNs = 500;        // what a coarse clock adds
constexpr int64_t kMaxDeviationNs = 5'000;
constexpr int64_t kDurationPart = 10;
constexpr int64_t kCentrePart = 8;
constexpr int64_t kBetweenDomainsNs = 30'000;

// The root of an operation and its other members need not end together.
bool HasRoot(const LaneEvent& e) {
  const auto op = static_cast<CollectiveOp>(e.kind / 256);
  return ComesFromRoot(op) || GoesToRoot(op);
}

// The events that tell whether lanes belong together: those without a root, where there are some.
std::vector<LaneEvent> TellingEvents(const std::vector<LaneEvent>& events) {
  std::vector<LaneEvent> out;
  std::remove_copy_if(events.begin(), events.end(), std::back_inserter(out), HasRoot);
  return out.size() >= kTellingEvents ? out : events;
}

class Finder {
 public:
  Finder(const std::vector<RankLane>& lanes, const ClockModel& clock, Executor& executor)
      : lanes_(lanes), clock_(clock), executor_(executor) {
    aligned_.resize(lanes_.size());
    usual_duration_.resize(lanes_.size());
    cap_.resize(lanes_.size());
    executor.ParallelFor(lanes_.size(), [&](size_t l) {
      aligned_[l] = Aligned(lanes_[l]);
      std::vector<int64_t> durations;
      for (const LaneEvent& e : aligned_[l]) durations.push_back(e.end_ns - e.start_ns);
      usual_duration_[l] = UpperMedian(std::move(durations));
      cap_[l] = CapOf(aligned_[l]);
    });
  }

  // Sets of lanes, each a communicator; ascending.
  std::vector<std::vector<size_t>> Run() {
    Compare();
    DropLockstep();
    std::vector<size_t> all(lanes_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    std::vector<std::vector<size_t>> sets = SetsAmong(all);
    std::sort(sets.begin(), sets.end());
    return sets;
  }

  [[nodiscard]] bool telling() const { return telling_; }

 private:
  struct Edge {
    size_t other = 0;
    int64_t deviation_ns = 0;
  };
  // Two lanes on different clocks that end alike, whether they fit or not.
  struct Crossing {
    size_t other = 0;
    EndWander wander;
  };
  using Peers = std::vector<std::set<size_t>>;  // per lane

  [[nodiscard]] std::vector<LaneEvent> Aligned(const RankLane& lane) const {
    std::vector<LaneEvent> out = TellingEvents(lane.events);
    for (LaneEvent& e : out) {
      e.moved_ns = clock_.Correction(lane.rank_index, LocalTime{e.end_ns}).ns;
      e.start_ns -= e.moved_ns;
      e.end_ns -= e.moved_ns;
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
    return std::max(SameDomain(a, b) ? kInDomainUncertaintyNs : kBetweenDomainsNs, usual_duration_[a] / kCentrePart);
  }

  // How far the ends of a lane's partners may scatter.
  [[nodiscard]] int64_t LimitOf(size_t lane) const {
    return std::max(kMaxDeviationNs, usual_duration_[lane] / kDurationPart);
  }

  // What the lanes of one clock show of those of others.
  struct Seen {
    std::vector<Edge> edges;  // to later lanes
    std::vector<Crossing> crossings;
    bool telling = false;
  };

  // a's edge to b if the two lanes fit.
  [[nodiscard]] std::optional<Edge> Fit(size_t a, size_t b, Seen& seen) const {
    const int64_t uncertainty = UncertaintyOf(a, b);
    LaneQuestion question{uncertainty, kQuickSample, SameDomain(a, b), false, false, std::max(cap_[a], cap_[b])};
    const auto quick = CompareLanes(aligned_[a], aligned_[b], question);
    if (!quick) return std::nullopt;
    seen.telling = seen.telling || quick->pairs >= std::min<int64_t>(kTellingLanePairs, kQuickSample);
    if (quick->coverage < kQuickCoverage || quick->common_rate < kQuickCommonRate) return std::nullopt;
    question.sample = kWholeSample;
    question.wander = true;
    Edge edge{b, kLeastTellingDeviationNs};
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      question.end_wander = x == a && !SameDomain(a, b);
      const auto whole = CompareLanes(aligned_[x], aligned_[y], question);
      if (whole && question.end_wander) seen.crossings.push_back({b, whole->end_wander});
      const auto least = static_cast<int64_t>(std::min(aligned_[x].size(), kWholeSample) / kOverlapPart);
      const bool fits = whole && whole->pairs >= std::max(kMinFitPairs, least) && CoversEnough(*whole) &&
                        whole->common_rate >= kMinCommonRate && whole->deviation_ns <= LimitOf(x) && !whole->wanders;
      if (!fits) return std::nullopt;
      edge.deviation_ns = std::max(edge.deviation_ns, whole->deviation_ns);
    }
    return edge;
  }

  // Short lanes may miss two of each other's rows.
  static bool CoversEnough(const LaneShift& shift) {
    const auto pairs = static_cast<double>(shift.pairs);
    return (1 - shift.coverage) * pairs <= std::max((1 - kMinFitCoverage) * pairs, std::min(2.0, pairs / 5)) + 1e-6;
  }

  void Compare() {
    edges_.assign(lanes_.size(), {});
    std::vector<Seen> seen(lanes_.size());
    executor_.ParallelFor(lanes_.size(), [&](size_t a) {
      for (size_t b = a + 1; b < lanes_.size(); ++b) {
        if (!Comparable(a, b)) continue;
        if (const auto edge = Fit(a, b, seen[a])) seen[a].edges.push_back(*edge);
      }
    });
    for (size_t a = 0; a < lanes_.size(); ++a) {
      telling_ = telling_ || seen[a].telling;
      for (const Edge& e : seen[a].edges) {
        edges_[a].push_back(e);
        edges_[e.other].push_back({a, e.deviation_ns});
      }
      crossings_.push_back(std::move(seen[a].crossings));
    }
  }

  // Sets of one clock whose ends, taken together, wander against those of a set of another clock only run in lockstep
  // with it, however well some of their lanes seem to fit: a single pair of short lanes may keep its distance by
  // chance, all of them do not.
  void DropLockstep() {
    const std::vector<size_t> set_of = SetsOfClocks();
    const auto by_set = [&](size_t a, size_t b) { return set_of[a] < set_of[b] ? std::pair(a, b) : std::pair(b, a); };
    std::map<std::pair<size_t, size_t>, WanderPool> pools;
    for (size_t a = 0; a < lanes_.size(); ++a) {
      for (const Crossing& c : crossings_[a]) {
        const auto [x, y] = by_set(a, c.other);
        pools[{set_of[x], set_of[y]}].Add(x, y, c.wander);
      }
    }
    const auto apart = [&](size_t a, size_t b) {
      const auto [x, y] = by_set(a, b);
      const auto at = pools.find({set_of[x], set_of[y]});
      return at != pools.end() && at->second.Verdict(pools.size()) == Wandering::kApart;
    };
    for (size_t a = 0; a < lanes_.size(); ++a) {
      std::erase_if(edges_[a], [&](const Edge& e) { return !SameDomain(a, e.other) && apart(a, e.other); });
    }
  }

  // Per lane the number of its set among the lanes on its clock: a set of its own where it is in none. A lane whose
  // ends meet those of a lane on another clock much more closely is in no set with its neighbours, whose ends only
  // follow the same work: shards of parameters are gathered across hosts by ranks that a tensor group keeps in step.
  [[nodiscard]] std::vector<size_t> SetsOfClocks() {
    std::vector<std::vector<Edge>> all = edges_;
    for (size_t l = 0; l < lanes_.size(); ++l) DropFarNeighbours(l);
    std::map<int32_t, std::vector<size_t>> by_domain;
    for (size_t l = 0; l < lanes_.size(); ++l) by_domain[clock_.DomainOf(lanes_[l].rank_index).value].push_back(l);
    std::vector<size_t> out(lanes_.size());
    std::iota(out.begin(), out.end(), size_t{0});
    for (const auto& [domain, lanes] : by_domain) {
      for (const std::vector<size_t>& set : SetsAmong(lanes)) {
        for (const size_t l : set) out[l] = set.front();
      }
    }
    edges_ = std::move(all);
    return out;
  }

  void DropFarNeighbours(size_t lane) {
    int64_t closest = INT64_MAX / 8;
    for (const Edge& e : edges_[lane]) closest = std::min(closest, std::max(e.deviation_ns, kEvenDeviationNs));
    const int64_t limit = Times(kDecoyRatios.front(), closest);
    std::erase_if(edges_[lane], [&](const Edge& e) { return SameDomain(lane, e.other) && e.deviation_ns > limit; });
  }

  [[nodiscard]] std::vector<std::vector<size_t>> SetsAmong(const std::vector<size_t>& lanes) {
    const std::set<size_t> among(lanes.begin(), lanes.end());
    Peers peers(lanes_.size());
    for (const size_t l : lanes) {
      for (const Edge& e : edges_[l]) {
        if (among.count(e.other) > 0) peers[l].insert(e.other);
      }
    }
    TakeEven(lanes, peers, 0);
    return std::exchange(sets_, {});
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
  std::vector<int64_t> cap_;             // per lane
  std::vector<int64_t> usual_duration_;  // per lane
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::vector<Crossing>> crossings_;  // to later lanes
  bool telling_ = false;
  std::vector<std::vector<size_t>> sets_;
};

}  // namespace

LaneSets FindLaneSets(const std::vector<RankLane>& lanes, const ClockModel& clock, Executor& executor) {
  Finder finder(lanes, clock, executor);
  LaneSets out;
  out.sets = finder.Run();
  out.telling = finder.telling();
  return out;
}

}  // namespace lockstep
