#include "analysis/metrics/replay/replay_scale.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace lockstep {
namespace {

constexpr size_t kFewSteps = 4;
constexpr double kStepDeviation = 0.02;  // below this, a step's own deviation is taken for noise
constexpr double kMostScale = 20;
constexpr double kAlike = 0.1;
constexpr double kGoTogether = 0.8;
constexpr double kNoiseWidths = 3;
constexpr double kBeyondAnyPeer = 1.5;
constexpr double kTimerNs = 1'000;

struct Sum {
  double own_ns = 0;
  double peers_ns = 0;
  void Add(const ScaledWork& item) {
    own_ns += static_cast<double>(item.own_ns);
    peers_ns += *item.peers_ns;
  }
  [[nodiscard]] double ratio() const {
    if (own_ns <= 0) return 1;
    const double ratio = peers_ns / own_ns;
    return ratio < kMostScale ? ratio : kMostScale;
  }
};

struct Sums {
  Sum all;
  std::map<int32_t, Sum> by_position;
  std::map<int64_t, Sum> by_step;
  double without_peers_ns = 0;
};

Sums SumUp(const std::vector<ScaledWork>& work) {
  Sums sums;
  for (const ScaledWork& item : work) {
    if (!item.peers_ns) {
      sums.without_peers_ns += static_cast<double>(item.own_ns);
      continue;
    }
    sums.all.Add(item);
    sums.by_position[item.position].Add(item);
    sums.by_step[item.step].Add(item);
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

double StepDeviation(const Sums& sums, int64_t step) {
  const double all = sums.all.ratio();
  const auto at = sums.by_step.find(step);
  if (at == sums.by_step.end() || all <= 0) return 1;
  const double deviation = at->second.ratio() / all;
  return std::abs(deviation - 1) < kStepDeviation ? 1 : deviation;
}

double SurplusOf(const ComparedLength& item) { return static_cast<double>(item.own_ns) - item.peers_ns; }

// How far own lengths lie from the peers' by noise alone, and how much of that is constant.
struct Noise {
  double width_ns = 0;
  double constant_ns = 0;
  double largest_ns = 0;  // surplus of any peer
  bool as_usual = false;  // the sum of all surpluses is one that noise gives
};

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
  noise.width_ns = kNoiseWidths * sd + kTimerNs;
  noise.as_usual = std::abs(all) <= kNoiseWidths * std::sqrt(variance);
  double sum = 0;
  double count = 0;
  for (const ComparedLength& item : lengths) {
    if (std::abs(SurplusOf(item)) > noise.width_ns) continue;
    sum += SurplusOf(item);
    ++count;
  }
  if (count > 0 && std::abs(sum / count) > kNoiseWidths * sd / std::sqrt(count)) noise.constant_ns = sum / count;
  return noise;
}

bool IsNoise(const ComparedLength& item, const Noise& noise) {
  const double surplus = SurplusOf(item);
  if (std::abs(surplus) <= noise.width_ns) return true;
  return noise.as_usual && surplus <= kBeyondAnyPeer * noise.largest_ns;
}

}  // namespace

std::vector<ScaledResult> LevelToPeers(const std::vector<ComparedLength>& lengths) {
  const Noise noise = NoiseOf(lengths);
  std::vector<ScaledResult> out;
  out.reserve(lengths.size());
  for (const ComparedLength& item : lengths) {
    const double kept = static_cast<double>(item.own_ns) - noise.constant_ns;
    out.push_back({item.node, std::llround(IsNoise(item, noise) ? kept : item.peers_ns)});
  }
  return out;
}

std::vector<ScaledResult> ScaleToPeers(const std::vector<ScaledWork>& work, double elsewhere) {
  const Sums sums = SumUp(work);
  const bool few = sums.by_step.size() < kFewSteps;
  const bool most_have_peers = sums.all.own_ns >= sums.without_peers_ns;
  const bool trusted = most_have_peers && GoTogether(sums.by_position);
  const double for_the_rest = most_have_peers ? sums.all.ratio() : elsewhere;
  std::vector<ScaledResult> out;
  out.reserve(work.size());
  for (const ScaledWork& item : work) {
    const auto own = static_cast<double>(item.own_ns);
    const bool compared = item.peers_ns && (trusted || !item.elsewhere);
    double length = own * for_the_rest * (most_have_peers ? StepDeviation(sums, item.step) : 1);
    if (compared && few) length = *item.peers_ns;
    if (compared && !few) {
      length = own * sums.by_position.at(item.position).ratio() * StepDeviation(sums, item.step);
    }
    out.push_back({item.node, std::llround(length)});
  }
  return out;
}

}  // namespace lockstep
