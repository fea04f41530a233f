#include "analysis/metrics/replay/replay_scale.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

constexpr size_t kFewScaledSteps = 4;
constexpr double kStepDeviation = 0.02;  // below this, a step's own deviation is taken for noise
constexpr double kMostScale = 20;
constexpr double kOtherWork = 1.4;  // beyond this factor, what peers do at one place of the program is not the same
constexpr double kAlike = 0.1;
constexpr double kGoTogether = 0.8;
constexpr double kPeerNoiseWidths = 3;
constexpr double kBeyondAnyPeer = 1.5;
constexpr double kTimerNs = 1'000;

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

  [[nodiscard]] double Levelled(const std::vector<ScaledWork>& work, size_t i) const {
    return static_cast<double>(work[i].own_ns) * by_kind.at(kind[i]).ratio();
  }
};

// Not where the peers do many times as much at the place: what one of them lost, or waited for unrecorded, is in it.
bool MayBeTheSame(const ScaledWork& item) {
  return *item.peers_ns <= kMostScale * static_cast<double>(item.own_ns) + kTimerNs * kMostScale;
}

// Items of one place belong together where each is not much longer, for the peers, than the next shorter one.
void SplitPlace(const std::vector<ScaledWork>& work, std::vector<size_t>& place, std::vector<WorkKind>& out) {
  std::sort(place.begin(), place.end(),
            [&](size_t a, size_t b) { return std::pair(*work[a].peers_ns, a) < std::pair(*work[b].peers_ns, b); });
  int32_t kind = 0;
  double shorter_ns = *work[place.front()].peers_ns;
  for (const size_t i : place) {
    if (*work[i].peers_ns > kOtherWork * std::max(shorter_ns, kTimerNs)) ++kind;
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

// What is usual at a place of the program, and from where on a value is an exception to it. Seen by kLeastItems at
// least.
struct Usual {
  static constexpr size_t kLeastItems = 8;
  static constexpr double kLeastLonger = 0.25;  // of what is usual
  static constexpr double kFarBeyond = 8;       // robust standard deviations
  static constexpr double kMostOfItems = 0.4;   // beyond it is no exception

  explicit Usual(const std::vector<double>& values) : middle(UpperMedian(values)) {
    std::vector<double> distances;
    for (const double value : values) distances.push_back(std::abs(value - middle));
    constexpr double kDeviationOfMedian = 1.4826;
    far = std::max(kLeastLonger * middle, kFarBeyond * kDeviationOfMedian * UpperMedian(std::move(distances)));
    const auto exceptions = std::count_if(values.begin(), values.end(), [&](double it) { return IsException(it); });
    seldom = static_cast<double>(exceptions) <= kMostOfItems * static_cast<double>(values.size());
  }
  [[nodiscard]] bool IsException(double value) const { return value > middle + far; }

  double middle = 0;
  double far = 0;
  bool seldom = false;  // what is beyond that are exceptions
};

// How often one of the peers stalls. One that stalls far more often than the others is late itself, and says nothing of
// them.
class PeerStallCount {
 public:
  // `peers`: beside this one.
  void Add(int32_t rank, double peers) {
    Stalls& of = by_rank_[rank];
    ++of.count;
    of.of_each += 1 / (peers + 1);
    of.of_each_other += 1 / peers;
  }

  [[nodiscard]] double OfAPeer() const {
    Stalls all;
    Stalls most;
    for (const auto& [rank, of] : by_rank_) {
      all.count += of.count;
      all.of_each += of.of_each;
      all.of_each_other += of.of_each_other;
      if (of.count > most.count) most = of;
    }
    const double others = all.of_each_other - most.of_each_other;
    const bool is_late = most.count > others + kPeerNoiseWidths * (1 + std::sqrt(others));
    return is_late ? others : all.of_each;
  }

 private:
  struct Stalls {
    double count = 0;
    double of_each = 0;        // for each peer, if they are those of all
    double of_each_other = 0;  // the same if one of them is left out
  };
  std::map<int32_t, Stalls> by_rank_;
};

// Finds work that is long now and then: its usual noise neither explains that, nor is a peer's as often long.
class RareLong {
 public:
  RareLong(const std::vector<ScaledWork>& work, const std::vector<WorkKind>& kinds)
      : work_(work), is_long_(work.size()) {
    std::map<WorkKind, std::vector<size_t>> items;
    for (size_t i = 0; i < work.size(); ++i) {
      if (work[i].peers_ns && *work[i].peers_ns >= kTimerNs) items[kinds[i]].push_back(i);
    }
    for (const auto& [kind, of_kind] : items) {
      if (of_kind.size() >= Usual::kLeastItems) Compare(of_kind);
    }
    of_a_peer_ += stalls_.OfAPeer();
    if (own_ >= kMoreThanOnce && own_ > of_a_peer_ + kPeerNoiseWidths * std::sqrt(of_a_peer_)) return;
    is_long_.assign(work.size(), false);
  }

  [[nodiscard]] const std::vector<bool>& get() const { return is_long_; }

 private:
  static constexpr double kMoreThanOnce = 2;

  void Compare(const std::vector<size_t>& items) {
    std::vector<double> ratios;
    for (const size_t i : items) ratios.push_back(static_cast<double>(work_[i].own_ns) / *work_[i].peers_ns);
    const Usual usual(ratios);
    if (!usual.seldom) return;
    for (size_t k = 0; k < items.size(); ++k) {
      is_long_[items[k]] = usual.IsException(ratios[k]);
      own_ += is_long_[items[k]] ? 1 : 0;
      const ScaledWork& item = work_[items[k]];
      if (item.stalled_rank >= 0) {
        stalls_.Add(item.stalled_rank, static_cast<double>(item.peers));
      } else {
        of_a_peer_ += PeersLong(item, ratios[k], usual.middle, usual.far / usual.middle);
      }
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

double SurplusOf(const ComparedLength& item) { return static_cast<double>(item.own_ns) - item.peers_ns; }

// How far own lengths lie from the peers' by noise alone, and how much of that is constant.
struct Noise {
  double width_ns = 0;
  double constant_ns = 0;
  double largest_ns = 0;  // surplus of any peer
  bool as_usual = false;  // the sum of all surpluses is one that noise gives, or it is as often long as a peer
};

// Own lengths beyond the noise, against how often a peer stalls: Poisson, three deviations.
bool IsAsOftenLong(const std::vector<ComparedLength>& lengths, double width_ns) {
  double own = 0;
  PeerStallCount stalls;
  for (const ComparedLength& item : lengths) {
    if (SurplusOf(item) > width_ns) ++own;
    if (item.stalled_rank >= 0) stalls.Add(item.stalled_rank, static_cast<double>(item.peers));
  }
  const double of_a_peer = stalls.OfAPeer();
  return own <= of_a_peer + kPeerNoiseWidths * std::sqrt(of_a_peer);
}

// Where a single peer stalls: it takes far longer there, against this rank, than at its place in most steps. Nowhere,
// if that costs no more than the pauses of any host do: these are noise.
std::vector<bool> PeerStalls(const std::vector<ComparedLength>& lengths) {
  constexpr double kMoreThanPauses = 0.08;  // of all that the peer takes
  std::map<int32_t, std::vector<size_t>> places;
  double peers_ns = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i].peers != 1) continue;
    places[lengths[i].position].push_back(i);
    peers_ns += lengths[i].peers_ns;
  }
  std::vector<bool> stalls(lengths.size());
  double stalled_ns = 0;
  for (const auto& [position, items] : places) {
    if (items.size() < Usual::kLeastItems) continue;
    std::vector<double> surplus;
    for (const size_t i : items) surplus.push_back(SurplusOf(lengths[i]));
    const double far = Median(surplus) - Usual::kFarBeyond * DeviationOfMost(surplus) - kTimerNs;
    for (size_t k = 0; k < items.size(); ++k) {
      const ComparedLength& item = lengths[items[k]];
      const bool longer = item.peers_ns > (1 + Usual::kLeastLonger) * static_cast<double>(item.own_ns);
      if (surplus[k] >= far || !longer) continue;
      stalls[items[k]] = true;
      stalled_ns -= surplus[k];
    }
  }
  return stalled_ns > kMoreThanPauses * peers_ns ? stalls : std::vector<bool>(lengths.size());
}

Noise NoiseOf(const std::vector<ComparedLength>& lengths) {
  Noise noise;
  double variance = 0;
  double below = 0;  // noise goes both ways, being late does not: with one peer that is all there is to tell them apart
  double all = 0;
  for (const ComparedLength& item : lengths) {
    const double surplus = SurplusOf(item);
    variance += item.variance_ns2;
    all += surplus;
    if (surplus < 0) below += 2 * surplus * surplus;
    noise.largest_ns = std::max({noise.largest_ns, item.largest_ns - item.peers_ns, -surplus});
  }
  variance = std::max(variance, below);
  const double sd = lengths.empty() ? 0 : std::sqrt(variance / static_cast<double>(lengths.size()));
  noise.width_ns = kPeerNoiseWidths * sd + kTimerNs;
  noise.as_usual = std::abs(all) <= kPeerNoiseWidths * std::sqrt(variance) || IsAsOftenLong(lengths, noise.width_ns);
  double sum = 0;
  double count = 0;
  for (const ComparedLength& item : lengths) {
    if (std::abs(SurplusOf(item)) > noise.width_ns) continue;
    sum += SurplusOf(item);
    ++count;
  }
  if (count > 0 && std::abs(sum / count) > kPeerNoiseWidths * sd / std::sqrt(count)) noise.constant_ns = sum / count;
  return noise;
}

bool IsNoise(const ComparedLength& item, const Noise& noise) {
  const double surplus = SurplusOf(item);
  if (std::abs(surplus) <= noise.width_ns) return true;
  return noise.as_usual && surplus <= kBeyondAnyPeer * noise.largest_ns;
}

}  // namespace

std::vector<ScaledResult> LevelToPeers(const std::vector<ComparedLength>& lengths) {
  const std::vector<bool> peer_stalls = PeerStalls(lengths);
  std::vector<ComparedLength> told;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (!peer_stalls[i]) told.push_back(lengths[i]);
  }
  const Noise noise = NoiseOf(told);
  std::vector<ScaledResult> out;
  out.reserve(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i) {
    const ComparedLength& item = lengths[i];
    const double kept = static_cast<double>(item.own_ns) - noise.constant_ns;
    const bool keeps = peer_stalls[i] || IsNoise(item, noise);
    out.push_back({item.node, std::llround(keeps ? kept : item.peers_ns)});
  }
  return out;
}

std::vector<ScaledResult> LevelToUsual(const std::vector<LoneLength>& lengths) {
  std::map<int32_t, std::vector<size_t>> places;
  for (size_t i = 0; i < lengths.size(); ++i) places[lengths[i].position].push_back(i);
  std::vector<ScaledResult> out;
  for (const auto& [position, items] : places) {
    if (items.size() < Usual::kLeastItems) continue;
    std::vector<double> values;
    for (const size_t i : items) values.push_back(static_cast<double>(lengths[i].own_ns));
    const Usual usual(values);
    for (size_t k = 0; k < items.size() && usual.seldom; ++k) {
      const bool is_long = usual.IsException(values[k]) && values[k] > usual.middle + kTimerNs;
      if (is_long) out.push_back({lengths[items[k]].node, std::llround(usual.middle)});
    }
  }
  return out;
}

std::vector<ScaledResult> ScaleToPeers(std::vector<ScaledWork> work, double step_deviation,
                                       const std::function<double()>& elsewhere) {
  for (ScaledWork& item : work) {
    if (item.peers_ns && !MayBeTheSame(item)) item.peers_ns.reset();
  }
  const Sums sums = SumUp(work);
  const bool few = sums.by_step.size() < kFewScaledSteps;
  const bool most_have_peers = sums.all.own_ns >= sums.without_peers_ns;
  const bool trusted = most_have_peers && GoTogether(sums.by_position);
  const double for_the_rest = most_have_peers ? sums.all.ratio() : elsewhere();
  std::vector<ScaledResult> out;
  out.reserve(work.size());
  for (size_t i = 0; i < work.size(); ++i) {
    const ScaledWork& item = work[i];
    const auto own = static_cast<double>(item.own_ns);
    const bool compared = item.peers_ns && (trusted || !item.elsewhere);
    double length = own * for_the_rest;
    if (most_have_peers) length *= StepDeviation(sums.by_step, item.step, sums.all.ratio(), step_deviation);
    if (compared && (few || sums.is_long[i])) length = *item.peers_ns;
    if (compared && !few && !sums.is_long[i]) {
      length = sums.Levelled(work, i) * StepDeviation(sums.by_step_levelled, item.step, 1, step_deviation);
    }
    out.push_back({item.node, std::llround(length)});
  }
  return out;
}

}  // namespace lockstep
