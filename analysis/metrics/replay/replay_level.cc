#include "analysis/metrics/replay/replay_level.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

constexpr double kBeyondAnyPeer = 1.5;

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
    if (items.size() < UsualAtPlace::kLeastItems) continue;
    std::vector<double> surplus;
    for (const size_t i : items) surplus.push_back(SurplusOf(lengths[i]));
    const double far = Median(surplus) - UsualAtPlace::kFarBeyond * DeviationOfMost(surplus) - kRecordResolutionNs;
    for (size_t k = 0; k < items.size(); ++k) {
      const ComparedLength& item = lengths[items[k]];
      const bool longer = item.peers_ns > (1 + UsualAtPlace::kLeastLonger) * static_cast<double>(item.own_ns);
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
  noise.width_ns = kPeerNoiseWidths * sd + kRecordResolutionNs;
  noise.as_usual = std::abs(all) <= kPeerNoiseWidths * std::sqrt(variance) || IsAsOftenLong(lengths, noise.width_ns);
  double sum = 0;
  double count = 0;
  for (const ComparedLength& item : lengths) {
    if (std::abs(SurplusOf(item)) > noise.width_ns) continue;
    sum += SurplusOf(item);
    ++count;
  }
  // Who is faster than the peers here stays so: only what makes it slower is to be mended.
  if (count > 0 && sum / count > kPeerNoiseWidths * sd / std::sqrt(count)) noise.constant_ns = sum / count;
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
    const bool only_peer_is_long = item.peers == 1 && SurplusOf(item) < 0;
    const bool keeps = peer_stalls[i] || only_peer_is_long || IsNoise(item, noise);
    out.push_back({item.node, std::llround(keeps ? kept : item.peers_ns)});
  }
  return out;
}

std::vector<ScaledResult> LevelToUsual(const std::vector<LoneLength>& lengths) {
  std::map<int32_t, std::vector<size_t>> places;
  for (size_t i = 0; i < lengths.size(); ++i) places[lengths[i].position].push_back(i);
  std::vector<ScaledResult> out;
  for (const auto& [position, items] : places) {
    if (items.size() < UsualAtPlace::kLeastItems) continue;
    std::vector<double> values;
    for (const size_t i : items) values.push_back(static_cast<double>(lengths[i].own_ns));
    const UsualAtPlace usual(values);
    for (size_t k = 0; k < items.size() && usual.seldom; ++k) {
      const bool is_long = usual.IsException(values[k]) && values[k] > usual.middle + kRecordResolutionNs;
      if (is_long) out.push_back({lengths[items[k]].node, std::llround(usual.middle)});
    }
  }
  return out;
}

}  // namespace lockstep
