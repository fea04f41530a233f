#include "analysis/metrics/match/lanes/exchange_links.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kPartnerReachNs = 60'000;  // biases and what an alignment leaves
constexpr size_t kMinRows = 6;               // in common, to tell anything
constexpr size_t kMinPart = 12;              // of a lane's rows that a partner shares, at least
constexpr size_t kPartnerHoleRows = 6;       // in a row without an answer: the partner has lost as many
constexpr size_t kMaxPartnerHoles = 4;       // more of them are no bursts
constexpr int64_t kMaxQuartileNs = 20'000;
constexpr int64_t kScatterFloorNs = 500;
constexpr double kClearScatterRatio = 1.7;  // of another rank's scatter over the same rows, where these are many
constexpr double kClearFewRows = 5;         // ... and what few rows may show by chance
constexpr int64_t kClearFloorNs = 2'000;    // differences below are those of clocks

struct Near {
  size_t row = 0;
  int64_t distance_ns = 0;  // signed
};

// For each event of a with an end of b in reach, the nearest one.
std::vector<Near> NearRows(const ExchangeLane& a, const ExchangeLane& b) {
  std::vector<Near> out;
  size_t j = 0;
  for (size_t i = 0; i < a.events.size(); ++i) {
    const int64_t end = a.events[i].end_ns;
    while (j + 1 < b.events.size() && std::abs(b.events[j + 1].end_ns - end) <= std::abs(b.events[j].end_ns - end)) ++j;
    if (b.events.empty() || std::abs(b.events[j].end_ns - end) > kPartnerReachNs) continue;
    out.push_back({i, b.events[j].end_ns - end});
  }
  return out;
}

size_t LowerBound(const std::vector<LaneEvent>& events, int64_t end_ns) {
  const auto at = std::lower_bound(events.begin(), events.end(), end_ns,
                                   [](const LaneEvent& e, int64_t t) { return e.end_ns < t; });
  return static_cast<size_t>(at - events.begin());
}

struct Scatter {
  size_t rows = 0;
  int64_t centre_ns = 0;
  int64_t deviation_ns = 0;  // median distance from the centre
  int64_t quartile_ns = 0;   // upper quartile of it: a sender may be done a little before its receiver, by design
};

Scatter ScatterOf(const std::vector<Near>& near, const std::vector<bool>& open) {
  std::vector<int64_t> distances;
  for (const Near& n : near) {
    if (open[n.row]) distances.push_back(n.distance_ns);
  }
  Scatter out;
  out.rows = distances.size();
  out.centre_ns = UpperMedian(distances);
  for (int64_t& d : distances) d = std::abs(d - out.centre_ns);
  std::sort(distances.begin(), distances.end());
  if (distances.empty()) return out;
  out.deviation_ns = std::max(kScatterFloorNs, distances[distances.size() / 2]);
  out.quartile_ns = std::max(kScatterFloorNs, distances[distances.size() * 3 / 4]);
  return out;
}

// Finds the partners of one lane.
class Chooser {
 public:
  Chooser(const std::vector<ExchangeLane>& lanes, size_t lane)
      : lanes_(lanes), lane_(lane), open_(lanes[lane].events.size(), true) {
    least_ = std::max(kMinRows, lanes[lane].events.size() / kMinPart);
    for (size_t other = 0; other < lanes.size(); ++other) {
      const bool possible =
          lanes[other].rank_index != lanes[lane].rank_index && lanes[other].component == lanes[lane].component;
      if (!possible) continue;
      std::vector<Near> near = NearRows(lanes[lane], lanes[other]);
      if (near.size() >= least_) near_.emplace(other, std::move(near));
    }
  }

  std::map<size_t, Scatter> Run() {
    std::map<size_t, Scatter> out;
    while (const auto best = Best()) {
      std::vector<size_t> alike = AsClose(*best);
      alike.push_back(*best);
      const std::optional<size_t> partner = alike.size() == 1 ? best : Counterpart(std::move(alike));
      if (partner) out.emplace(*partner, ScatterOf(near_.at(*partner), open_));
      for (const Near& n : near_.at(*best)) open_[n.row] = false;
      near_.erase(*best);
    }
    return out;
  }

 private:
  [[nodiscard]] std::optional<size_t> Best() const {
    std::optional<size_t> best;
    int64_t least = kMaxQuartileNs + 1;
    for (const auto& [other, near] : near_) {
      const Scatter s = ScatterOf(near, open_);
      if (s.rows < least_ || s.quartile_ns >= least) continue;
      best = other;
      least = s.quartile_ns;
    }
    return best;
  }

  // The others that end about as closely at the same rows.
  [[nodiscard]] std::vector<size_t> AsClose(size_t best) const {
    const Scatter scatter = ScatterOf(near_.at(best), open_);
    std::vector<bool> shared(open_.size(), false);
    for (const Near& n : near_.at(best)) shared[n.row] = open_[n.row];
    const double ratio =
        std::max(kClearScatterRatio, std::exp(kClearFewRows / std::sqrt(static_cast<double>(scatter.rows))));
    const auto own = static_cast<double>(std::max(kClearFloorNs, scatter.quartile_ns));
    const auto limit = static_cast<int64_t>(ratio * own);
    std::vector<size_t> out;
    for (const auto& [other, near] : near_) {
      const Scatter s = ScatterOf(near, shared);
      if (other != best && 2 * s.rows >= scatter.rows && s.quartile_ns < limit) out.push_back(other);
    }
    return out;
  }

  // Among ranks that end alike and are all of one group the one at the lane's own place. Those of the lane's group do
  // not count where there are others: they send at that moment too, each to its own partner.
  [[nodiscard]] std::optional<size_t> Counterpart(std::vector<size_t> alike) const {
    const ExchangeLane::Place& own = lanes_[lane_].place;
    if (own.group < 0) return std::nullopt;
    std::erase_if(alike, [&](size_t other) { return lanes_[other].place.group == own.group; });
    std::optional<size_t> out;
    for (const size_t other : alike) {
      const ExchangeLane::Place& place = lanes_[other].place;
      if (place.group != lanes_[alike.front()].place.group || place.members != own.members) return std::nullopt;
      if (place.number == own.number) out = other;
    }
    return out;
  }

  const std::vector<ExchangeLane>& lanes_;
  const size_t lane_;
  std::vector<bool> open_;  // rows that no partner has taken
  size_t least_ = 0;
  std::map<size_t, std::vector<Near>> near_;  // by other lane
};

}  // namespace

std::vector<ExchangeLink> FindExchangeLinks(const std::vector<ExchangeLane>& lanes) {
  std::vector<std::map<size_t, Scatter>> partners;
  for (size_t l = 0; l < lanes.size(); ++l) partners.push_back(Chooser(lanes, l).Run());
  std::vector<ExchangeLink> out;
  for (size_t a = 0; a < lanes.size(); ++a) {
    for (const auto& [b, scatter] : partners[a]) {
      if (a < b && partners[b].count(a) > 0) out.push_back({a, b, scatter.centre_ns, scatter.deviation_ns});
    }
  }
  return out;
}

namespace {

// Rows without an answer that lie where a partner recorded nothing for a long while: it has lost a burst of rows.
std::vector<bool> PartnerLost(const std::vector<ExchangeLane>& lanes, const std::vector<ExchangeLink>& links,
                              size_t lane, const std::vector<bool>& linked) {
  const std::vector<LaneEvent>& events = lanes[lane].events;
  std::vector<bool> out(events.size(), false);
  size_t holes = 0;
  for (const ExchangeLink& link : links) {
    if (link.a != lane && link.b != lane) continue;
    const std::vector<LaneEvent>& other = lanes[link.a == lane ? link.b : link.a].events;
    for (size_t j = 1; j < other.size(); ++j) {
      std::vector<size_t> inside;
      for (size_t i = LowerBound(events, other[j - 1].end_ns + kPartnerReachNs); i < events.size(); ++i) {
        if (events[i].end_ns >= other[j].end_ns - kPartnerReachNs) break;
        if (!linked[i]) inside.push_back(i);
      }
      if (inside.size() < kPartnerHoleRows) continue;
      ++holes;
      for (const size_t i : inside) out[i] = true;
    }
  }
  return holes <= kMaxPartnerHoles ? out : std::vector<bool>(events.size(), false);
}

}  // namespace

double LinkedShare(const std::vector<ExchangeLane>& lanes, const std::vector<ExchangeLink>& links, size_t lane) {
  const std::vector<LaneEvent>& events = lanes[lane].events;
  int64_t from = INT64_MIN;
  int64_t to = INT64_MAX;
  std::vector<bool> linked(events.size(), false);
  for (const ExchangeLink& link : links) {
    if (link.a != lane && link.b != lane) continue;
    const ExchangeLane& other = lanes[link.a == lane ? link.b : link.a];
    from = std::max(from, other.events.front().end_ns - kPartnerReachNs);
    to = std::min(to, other.events.back().end_ns + kPartnerReachNs);
    for (const Near& n : NearRows(lanes[lane], other)) linked[n.row] = true;
  }
  const std::vector<bool> lost = PartnerLost(lanes, links, lane, linked);
  int64_t all = 0;
  int64_t found = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].end_ns < from || events[i].end_ns > to || lost[i]) continue;
    ++all;
    found += linked[i] ? 1 : 0;
  }
  return all == 0 ? 0 : static_cast<double>(found) / static_cast<double>(all);
}

bool MayBeOneExchange(const std::vector<ExchangeLane>& lanes) {
  constexpr int64_t kBiasSlackNs = 5'000;  // biases of the devices
  constexpr size_t kOneIn = 100;           // rows that are damaged, or lack a partner
  if (lanes.size() < 3) return false;
  size_t seen = 0;
  size_t apart = 0;
  for (const LaneEvent& e : lanes.front().events) {
    int64_t last_start = e.start_ns;
    int64_t first_end = e.end_ns;
    bool covered = true;
    for (const ExchangeLane& other : lanes) {
      const size_t at = LowerBound(other.events, e.start_ns - kBiasSlackNs);
      covered =
          covered && !other.events.empty() && other.events.front().start_ns <= e.end_ns && at < other.events.size();
      if (!covered) break;
      last_start = std::max(last_start, other.events[at].start_ns);
      first_end = std::min(first_end, other.events[at].end_ns);
    }
    if (!covered) continue;
    ++seen;
    apart += last_start > first_end + kBiasSlackNs ? 1 : 0;
  }
  return seen >= kMinRows && apart * kOneIn <= seen;
}

bool LinkStages(const std::vector<ExchangeLane>& lanes, const std::vector<ExchangeLink>& links) {
  return std::all_of(links.begin(), links.end(), [&](const ExchangeLink& link) {
    const int32_t a = lanes[link.a].place.group;
    const int32_t b = lanes[link.b].place.group;
    return a >= 0 && b >= 0 && a != b;
  });
}

std::vector<std::vector<size_t>> ConnectedLanes(size_t lanes, const std::vector<ExchangeLink>& links) {
  std::vector<size_t> root(lanes);
  std::iota(root.begin(), root.end(), size_t{0});
  const auto find = [&](size_t x) {
    while (root[x] != x) x = root[x] = root[root[x]];
    return x;
  };
  for (const ExchangeLink& link : links) {
    const auto [low, high] = std::minmax({find(link.a), find(link.b)});
    root[high] = low;
  }
  std::map<size_t, std::vector<size_t>> sets;
  for (size_t l = 0; l < lanes; ++l) sets[find(l)].push_back(l);
  std::vector<std::vector<size_t>> out;
  for (auto& [first, set] : sets) {
    if (set.size() > 1) out.push_back(std::move(set));
  }
  return out;
}

}  // namespace lockstep
