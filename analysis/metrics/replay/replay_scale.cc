#include "analysis/metrics/replay/replay_scale.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/metrics/replay/replay_usual.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kFewScaledSteps = 4;
constexpr double kStepDeviation = 0.02;  // below this, a step's own deviation is taken for noise
constexpr double kMostScale = 20;
constexpr double kOtherWork = 1.4;  // beyond this factor, what peers do at one place of the program is not the same
constexpr double kAlike = 0.1;
constexpr double kGoTogether = 0.8;

struct Sum {
  double own_ns = 0;
  double peers_ns = 0;
  void Add(double own, double peers) {
    own_ns += own;
    peers_ns += peers;
  }
  [[nodiscard]] double ratio() const {
    if (own_ns <= 0) return 1;
    const double ratio = peers_ns / own_ns;
    return ratio < kMostScale ? ratio : kMostScale;
  }
};

// A place of the program, and which of the kinds of work done there: one place may hold a prefill in one step and a
// decode in another.
using WorkKind = std::pair<int32_t, int32_t>;

struct Sums {
  std::vector<WorkKind> kind;  // of each item that has peers
  std::vector<bool> is_long;   // items that are in no sum (RareLong)
  Sum all;
  std::map<WorkKind, Sum> by_kind;
  std::map<int32_t, Sum> by_position;
  std::map<int64_t, Sum> by_step;
  std::map<int64_t, Sum> by_step_levelled;  // own lengths as their kinds' ratios make them
  double without_peers_ns = 0;

  [[nodiscard]] bool most_have_peers() const { return all.own_ns >= without_peers_ns; }
  [[nodiscard]] double Levelled(const std::vector<ScaledWork>& work, size_t i) const {
    return static_cast<double>(work[i].own_ns) * by_kind.at(kind[i]).ratio();
  }
};

// Not where the peers do many times as much at the place: what one of them lost, or waited for unrecorded, is in it.
bool MayBeTheSame(const ScaledWork& item) {
  return *item.peers_ns <= kMostScale * static_cast<double>(item.own_ns) + kRecordResolutionNs * kMostScale;
}

// Items of one place belong together where each is not much longer, for the peers, than the next shorter one.
void SplitPlace(const std::vector<ScaledWork>& work, std::vector<size_t>& place, std::vector<WorkKind>& out) {
  std::sort(place.begin(), place.end(),
            [&](size_t a, size_t b) { return std::pair(*work[a].peers_ns, a) < std::pair(*work[b].peers_ns, b); });
  int32_t kind = 0;
  double shorter_ns = *work[place.front()].peers_ns;
  for (const size_t i : place) {
    if (*work[i].peers_ns > kOtherWork * std::max(shorter_ns, kRecordResolutionNs)) ++kind;
    shorter_ns = *work[i].peers_ns;
    out[i] = {work[i].position, kind};
  }
}

std::vector<WorkKind> KindsOf(const std::vector<ScaledWork>& work) {
  std::map<int32_t, std::vector<size_t>> places;
  for (size_t i = 0; i < work.size(); ++i) {
    if (work[i].peers_ns) places[work[i].position].push_back(i);
  }
  std::vector<WorkKind> out(work.size());
  for (auto& [position, place] : places) SplitPlace(work, place, out);
  return out;
}

// Finds work that is long now and then: its usual noise neither explains that, nor is a peer's as often long.
class RareLong {
 public:
  RareLong(const std::vector<ScaledWork>& work, const std::vector<WorkKind>& kinds)
      : work_(work), is_long_(work.size()) {
    std::map<WorkKind, std::vector<size_t>> items;
    std::map<int32_t, std::vector<double>> places;
    for (size_t i = 0; i < work.size(); ++i) {
      if (!work[i].peers_ns || *work[i].peers_ns < kRecordResolutionNs) continue;
      items[kinds[i]].push_back(i);
      places[work[i].position].push_back(RatioOf(work[i]));
    }
    for (const auto& [kind, of_kind] : items) {
      if (of_kind.size() >= UsualAtPlace::kLeastItems) {
        Compare(of_kind);
      } else {
        CountFew(of_kind, Median(places.at(kind.first)));
      }
    }
    of_a_peer_ += stalls_.OfAPeer();
    if (own_ >= kMoreThanOnce && own_ > of_a_peer_ + kPeerNoiseWidths * std::sqrt(of_a_peer_)) return;
    is_long_.assign(work.size(), false);
  }

  [[nodiscard]] const std::vector<bool>& get() const { return is_long_; }

 private:
  static constexpr double kMoreThanOnce = 2;

  static double RatioOf(const ScaledWork& item) { return static_cast<double>(item.own_ns) / *item.peers_ns; }

  // Work of a kind that is too seldom to show what is usual: where a peer was long now and then, most of it is.
  void CountFew(const std::vector<size_t>& items, double usual) {
    for (const size_t i : items) CountPeers(work_[i], usual, UsualAtPlace::kLeastLonger);
  }

  void CountPeers(const ScaledWork& item, double usual, double far_ratio) {
    if (item.stalled_rank >= 0) {
      stalls_.Add(item.stalled_rank, static_cast<double>(item.peers));
    } else {
      of_a_peer_ += PeersLong(item, RatioOf(item), usual, far_ratio);
    }
  }

  void Compare(const std::vector<size_t>& items) {
    std::vector<double> ratios;
    for (const size_t i : items) ratios.push_back(RatioOf(work_[i]));
    const UsualAtPlace usual(ratios);
    if (!usual.seldom) return;
    for (size_t k = 0; k < items.size(); ++k) {
      is_long_[items[k]] = usual.IsException(ratios[k]);
      own_ += is_long_[items[k]] ? 1 : 0;
      CountPeers(work_[items[k]], usual.middle, usual.far / usual.middle);
    }
  }

  // How many of its peers are as long by the same measure, for each of them.
  static double PeersLong(const ScaledWork& item, double ratio, double usual, double far_ratio) {
    const auto peers = static_cast<double>(item.peers);
    if (item.peers < 2) return ratio * (1 + far_ratio) < usual ? 1 : 0;  // a pair: the other one is long
    const double rest = (*item.peers_ns * peers - item.largest_ns) / (peers - 1);
    return item.largest_ns > (1 + far_ratio) * rest ? 1 / peers : 0;
  }

  const std::vector<ScaledWork>& work_;
  std::vector<bool> is_long_;
  double own_ = 0;
  double of_a_peer_ = 0;
  PeerStallCount stalls_;
};

Sums SumUp(const std::vector<ScaledWork>& work) {
  Sums sums;
  sums.kind = KindsOf(work);
  sums.is_long = RareLong(work, sums.kind).get();
  for (size_t i = 0; i < work.size(); ++i) {
    const ScaledWork& item = work[i];
    if (!item.peers_ns) {
      sums.without_peers_ns += static_cast<double>(item.own_ns);
      continue;
    }
    if (sums.is_long[i]) continue;
    sums.all.Add(static_cast<double>(item.own_ns), *item.peers_ns);
    sums.by_kind[sums.kind[i]].Add(static_cast<double>(item.own_ns), *item.peers_ns);
    sums.by_position[item.position].Add(static_cast<double>(item.own_ns), *item.peers_ns);
    sums.by_step[item.step].Add(static_cast<double>(item.own_ns), *item.peers_ns);
  }
  for (size_t i = 0; i < work.size(); ++i) {
    if (work[i].peers_ns && !sums.is_long[i])
      sums.by_step_levelled[work[i].step].Add(sums.Levelled(work, i), *work[i].peers_ns);
  }
  return sums;
}

// Whether the lengths at the places of a program go with those of the peers; so they do where all are alike.
bool GoTogether(const std::map<int32_t, Sum>& by_position) {
  double own = 0;
  double peers = 0;
  for (const auto& [position, sum] : by_position) {
    own += sum.own_ns / static_cast<double>(by_position.size());
    peers += sum.peers_ns / static_cast<double>(by_position.size());
  }
  double own_squares = 0;
  double peers_squares = 0;
  double products = 0;
  for (const auto& [position, sum] : by_position) {
    own_squares += (sum.own_ns - own) * (sum.own_ns - own);
    peers_squares += (sum.peers_ns - peers) * (sum.peers_ns - peers);
    products += (sum.own_ns - own) * (sum.peers_ns - peers);
  }
  const double alike = kAlike * kAlike * static_cast<double>(by_position.size());
  if (own_squares < alike * own * own || peers_squares < alike * peers * peers) return true;
  return products >= kGoTogether * std::sqrt(own_squares * peers_squares);
}

// Of a step's ratio from the usual one, beyond what noise explains.
double StepDeviation(const std::map<int64_t, Sum>& by_step, int64_t step, double usual, double noise) {
  const auto at = by_step.find(step);
  if (at == by_step.end() || usual <= 0) return 1;
  const double deviation = at->second.ratio() / usual;
  return std::abs(deviation - 1) < std::max(kStepDeviation, kPeerNoiseWidths * noise) ? 1 : deviation;
}

}  // namespace

std::vector<ScaledResult> ScaleToPeers(std::vector<ScaledWork> work, double step_deviation,
                                       const std::function<double()>& elsewhere) {
  for (ScaledWork& item : work) {
    if (item.peers_ns && !MayBeTheSame(item)) item.peers_ns.reset();
  }
  Sums sums = SumUp(work);
  if (!sums.most_have_peers() || !GoTogether(sums.by_position)) {
    // Their programs are at other places: neither a length nor the sum of them is that of the same work.
    for (ScaledWork& item : work) {
      if (item.elsewhere) item.peers_ns.reset();
    }
    sums = SumUp(work);
  }
  const bool few = sums.by_step.size() < kFewScaledSteps;
  const bool most_have_peers = sums.most_have_peers();
  const double for_the_rest = most_have_peers ? sums.all.ratio() : elsewhere();
  // Who is faster than the peers on the whole stays so: only what makes a rank slower is to be mended.
  const double keeps_speed = 1 / std::max(1.0, sums.all.ratio());
  std::vector<ScaledResult> out;
  out.reserve(work.size());
  for (size_t i = 0; i < work.size(); ++i) {
    const ScaledWork& item = work[i];
    const bool compared = item.peers_ns.has_value();
    double length = 0;
    if (compared && (few || sums.is_long[i])) {
      length = *item.peers_ns;
    } else if (compared) {
      length =
          sums.Levelled(work, i) * StepDeviation(sums.by_step_levelled, item.step, 1, step_deviation) * keeps_speed;
    } else {
      length = static_cast<double>(item.own_ns) * std::min(1.0, for_the_rest);
      if (most_have_peers) length *= StepDeviation(sums.by_step, item.step, sums.all.ratio(), step_deviation);
    }
    out.push_back({item.node, std::llround(length)});
  }
  return out;
}

}  // namespace lockstep
