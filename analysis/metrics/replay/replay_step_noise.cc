#include "analysis/metrics/replay/replay_step_noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/stats/order_statistic.h"
#include "analysis/stats/robust_deviation.h"

namespace lockstep {
namespace {

constexpr size_t kLeastSteps = 8;
constexpr size_t kMostPeers = 16;  // that are asked: more tell no more about the noise

// Work of a step at the places where the rank has a peer.
struct WorkOfStep {
  int64_t step = 0;
  double own = 0;
  double peers = 0;
};
using StepWork = std::vector<WorkOfStep>;  // in order of the steps

// What a peer does at the places where the rank has it for a peer.
struct PeerWork {
  int32_t rank = 0;
  int64_t places = 0;
  std::vector<StepWork> by_value = {};
};

// The work of one place more. The places of a step mostly come one after the other.
void AddPlace(const WorkOfStep& place, StepWork& work) {
  if (work.empty() || work.back().step != place.step) {
    work.push_back(place);
    return;
  }
  work.back().own += place.own;
  work.back().peers += place.peers;
}

void MergeSteps(StepWork& work) {
  std::stable_sort(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  StepWork merged;
  for (const WorkOfStep& part : work) AddPlace(part, merged);
  work = std::move(merged);
}

// Peers of a rank, by rank of theirs: the first kMostPeers that it meets.
class WorkBesidePeers {
 public:
  WorkBesidePeers(const ReplayGraph& graph, std::span<const ReplayPeers::WorkValue> values)
      : values_(values), number_(graph.first.size() - 1, kUnknown) {}

  void Meet(const ReplayNode& node, int64_t step, const ReplayNode& other) {
    int32_t& number = number_[static_cast<size_t>(other.rank)];
    if (number == kUnknown) {
      if (peers_.size() >= kMostPeers) return;
      number = static_cast<int32_t>(peers_.size());
      peers_.push_back({.rank = other.rank, .by_value = std::vector<StepWork>(values_.size())});
    }
    PeerWork& peer = peers_[static_cast<size_t>(number)];
    ++peer.places;
    for (size_t v = 0; v < values_.size(); ++v) {
      const auto own = static_cast<double>(values_[v](node));
      AddPlace({step, own, static_cast<double>(values_[v](other))}, peer.by_value[v]);
    }
  }

  // Of the peers that the rank has at most places, by rank: those of the data group are beside few of a tensor group's.
  [[nodiscard]] std::vector<StepWork> OfMostPlaces(size_t value) {
    int64_t most = 0;
    for (const PeerWork& peer : peers_) most = std::max(most, peer.places);
    std::map<int32_t, StepWork> by_rank;
    for (PeerWork& peer : peers_) {
      if (2 * peer.places <= most) continue;
      MergeSteps(peer.by_value[value]);
      by_rank[peer.rank] = std::move(peer.by_value[value]);
    }
    std::vector<StepWork> out;
    for (auto& [rank, work] : by_rank) out.push_back(std::move(work));
    return out;
  }

 private:
  static constexpr int32_t kUnknown = -1;

  const std::span<const ReplayPeers::WorkValue> values_;
  std::vector<int32_t> number_;  // of each rank among the peers
  std::vector<PeerWork> peers_;
};

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

bool HasBoth(const WorkOfStep& work) { return work.own > 0 && work.peers > 0; }

// How much longer than the rank's the work of a peer is, at the same places: its logarithm.
double RatioOf(const WorkOfStep& work) { return std::log(work.peers / work.own); }

// Of one of two peers: each has its own noise, and the same deviation of it. The rank's own cancels out.
double DeviationOfEither(const StepWork& a, const StepWork& b, int64_t& steps) {
  TwoSeries ratios;
  auto other = b.begin();
  for (const WorkOfStep& work : a) {
    while (other != b.end() && other->step < work.step) ++other;
    if (other == b.end()) break;
    if (other->step != work.step || !HasBoth(work) || !HasBoth(*other)) continue;
    ratios.a.push_back(RatioOf(work));
    ratios.b.push_back(RatioOf(*other));
  }
  if (ratios.a.size() < kLeastSteps) return 0;
  steps = std::max(steps, static_cast<int64_t>(ratios.a.size()));
  return ratios.OfSum(-1) / std::sqrt(2);
}

// What varies in the only peer and not in the rank: its variance less the covariance of both; no more than half of what
// varies between them, which holds the rank's own noise and what makes it slow at times.
double DeviationOfPeer(const StepWork& work, int64_t& steps) {
  TwoSeries both;
  for (const WorkOfStep& of_both : work) {
    if (!HasBoth(of_both)) continue;
    both.a.push_back(std::log(of_both.own));
    both.b.push_back(std::log(of_both.peers));
  }
  if (both.a.size() < kLeastSteps) return 0;
  steps = static_cast<int64_t>(both.a.size());
  const double of_peer = RobustDeviation(both.b);
  const double sum = both.OfSum(1);
  const double difference = both.OfSum(-1);
  const double covariance = (sum * sum - difference * difference) / 4;
  return std::min(std::sqrt(std::max(0.0, of_peer * of_peer - covariance)), difference / std::sqrt(2));
}

StepNoise NoiseOf(const std::vector<StepWork>& work) {
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

}  // namespace

std::vector<StepNoise> NoiseOfSteps(const ReplayGraph& graph, const ArrivalGraph& source, const ReplayPeers& peers,
                                    size_t rank, const std::vector<bool>& in_scope,
                                    std::span<const ReplayPeers::WorkValue> values) {
  WorkBesidePeers work(graph, values);
  for (size_t n = graph.first[rank]; n < graph.first[rank + 1]; ++n) {
    const ReplayNode& node = graph.nodes[n];
    const int64_t step = source.ranks[rank][n - graph.first[rank]].step;
    if (!node.follows || step == kNoStep) continue;
    peers.ForEachPeer(static_cast<int32_t>(n), in_scope,
                      [&](const ReplayNode& other) { work.Meet(node, step, other); });
  }
  std::vector<StepNoise> noise;
  for (size_t v = 0; v < values.size(); ++v) noise.push_back(NoiseOf(work.OfMostPlaces(v)));
  return noise;
}

}  // namespace lockstep
