#include "analysis/metrics/replay/replay_step_noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

constexpr size_t kLeastSteps = 8;
constexpr size_t kMostPeers = 16;  // that are asked: more tell no more about the noise

using StepWork = std::map<int64_t, std::pair<double, double>>;  // by step: the rank's, and that of a peer

// What a peer does at the places where the rank has it for a peer.
struct PeerWork {
  StepWork by_step;
  int64_t places = 0;
};

// Of the peers that it has at most places: those of the data group are beside few of a tensor group's.
std::vector<StepWork> WorkBesidePeers(const ReplayGraph& graph, const ArrivalGraph& source, const ReplayPeers& peers,
                                      size_t rank, const std::vector<bool>& in_scope,
                                      int64_t (*value)(const ReplayNode&)) {
  std::map<int32_t, PeerWork> of_peers;
  for (size_t n = graph.first[rank]; n < graph.first[rank + 1]; ++n) {
    const int64_t step = source.ranks[rank][n - graph.first[rank]].step;
    if (!graph.nodes[n].follows || step == kNoStep) continue;
    peers.ForEachPeer(static_cast<int32_t>(n), in_scope, [&](const ReplayNode& other) {
      if (of_peers.size() >= kMostPeers && !of_peers.contains(other.rank)) return;
      PeerWork& work = of_peers[other.rank];
      ++work.places;
      auto& [own, of_peer] = work.by_step[step];
      own += static_cast<double>(value(graph.nodes[n]));
      of_peer += static_cast<double>(value(other));
    });
  }
  int64_t most = 0;
  for (const auto& [peer, work] : of_peers) most = std::max(most, work.places);
  std::vector<StepWork> out;
  for (auto& [peer, work] : of_peers) {
    if (2 * work.places > most) out.push_back(std::move(work.by_step));
  }
  return out;
}

// Deviations of two series, and of their sum and difference, from step to step.
struct TwoSeries {
  std::vector<double> a;
  std::vector<double> b;

  [[nodiscard]] double OfSum(double factor_of_b) const {
    std::vector<double> sums;
    for (size_t i = 0; i < a.size(); ++i) sums.push_back(a[i] + factor_of_b * b[i]);
    return RobustDeviation(sums);
  }
};

bool HasBoth(const std::pair<double, double>& work) { return work.first > 0 && work.second > 0; }

// How much longer than the rank's the work of a peer is, at the same places: its logarithm.
double RatioOf(const std::pair<double, double>& work) { return std::log(work.second / work.first); }

// Of one of two peers: each has its own noise, and the same deviation of it. The rank's own cancels out.
double DeviationOfEither(const StepWork& a, const StepWork& b, int64_t& steps) {
  TwoSeries ratios;
  for (const auto& [step, work] : a) {
    const auto other = b.find(step);
    if (other == b.end() || !HasBoth(work) || !HasBoth(other->second)) continue;
    ratios.a.push_back(RatioOf(work));
    ratios.b.push_back(RatioOf(other->second));
  }
  if (ratios.a.size() < kLeastSteps) return 0;
  steps = std::max(steps, static_cast<int64_t>(ratios.a.size()));
  return ratios.OfSum(-1) / std::sqrt(2);
}

// What varies in the only peer and not in the rank: its variance less the covariance of both; no more than half of what
// varies between them, which holds the rank's own noise and what makes it slow at times.
double DeviationOfPeer(const StepWork& work, int64_t& steps) {
  TwoSeries both;
  for (const auto& [step, of_both] : work) {
    if (!HasBoth(of_both)) continue;
    both.a.push_back(std::log(of_both.first));
    both.b.push_back(std::log(of_both.second));
  }
  if (both.a.size() < kLeastSteps) return 0;
  steps = static_cast<int64_t>(both.a.size());
  const double of_peer = RobustDeviation(both.b);
  const double sum = both.OfSum(1);
  const double difference = both.OfSum(-1);
  const double covariance = (sum * sum - difference * difference) / 4;
  return std::min(std::sqrt(std::max(0.0, of_peer * of_peer - covariance)), difference / std::sqrt(2));
}

}  // namespace

StepNoise NoiseOfSteps(const ReplayGraph& graph, const ArrivalGraph& source, const ReplayPeers& peers, size_t rank,
                       const std::vector<bool>& in_scope, int64_t (*value)(const ReplayNode&)) {
  const std::vector<StepWork> work = WorkBesidePeers(graph, source, peers, rank, in_scope, value);
  StepNoise noise;
  if (work.empty()) return noise;
  std::vector<double> deviations;
  if (work.size() == 1) deviations.push_back(DeviationOfPeer(work.front(), noise.steps));
  for (size_t i = 1; i < work.size(); ++i) {
    deviations.push_back(DeviationOfEither(work[i - 1], work[i], noise.steps));
  }
  noise.deviation = UpperMedian(std::move(deviations)) * std::sqrt(1 + 1 / static_cast<double>(work.size()));
  return noise;
}

}  // namespace lockstep
