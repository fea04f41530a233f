// Own time against peers, where some of the collectives have a root.
#include "analysis/metrics/stragglers/own_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "tests/unit/analysis/metrics/stragglers/paced_run.h"

namespace lockstep {
namespace {

constexpr int kSteps = 400;
constexpr double kNoise = 0.02;

// Two ranks that are alike, but that the second one waits for the first in broadcasts between the all-reduces.
std::vector<double> ExcessOfReceiver(unsigned seed, const ExtraOwn& extra = {}) {
  PacedShape shape;
  shape.gpus = 2;
  shape.steps = kSteps;
  shape.layers = 4;
  shape.noise = kNoise;
  shape.broadcasts = true;
  const PacedRun run = MakePacedRun(shape, seed, extra);
  std::vector<double> excess = TestLateness(run.ranks, run.match, run.graph, std::nullopt).own[1].excess_ns;
  std::erase_if(excess, [](double value) { return std::isnan(value); });
  return excess;
}

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Of four stretches of two ranks, as drawn.
const double kStandardError = 1'000'000 * kNoise * std::sqrt(8.0 / kSteps);

TEST(OwnTime, WhoWaitsForTheRootOfBroadcastsHasNoMoreOfItThanTheRoot) {
  for (unsigned seed = 1; seed <= 5; ++seed) EXPECT_NEAR(MeanOf(ExcessOfReceiver(seed)), 0, 4 * kStandardError) << seed;
}

TEST(OwnTime, WhatAReceiverComputesMoreBeforeAnyCollectiveOfTheStepCounts) {
  constexpr int64_t kMore = 30'000;
  for (int slow_layer = 0; slow_layer < 4; ++slow_layer) {
    const auto extra = [&](int32_t rank, int, int layer) { return rank == 1 && layer == slow_layer ? kMore : 0; };
    EXPECT_NEAR(MeanOf(ExcessOfReceiver(7, extra)), kMore, 4 * kStandardError) << slow_layer;
  }
}

// Nearly all of a step lies before its first collective, and one rank loses that one in two steps.
TEST(OwnTime, AStepThatLacksWhatMostOfItLiesBeforeIsNotComparedAcrossCommunicators) {
  PacedShape shape;
  shape.hosts = 2;
  shape.gpus = 2;
  shape.layers = 3;
  shape.steps = 20;
  shape.dp_across_hosts = false;
  PacedRun run = MakePacedRun(shape, 3, [](int32_t, int, int layer) { return layer == 0 ? 100'000'000 : 0; });
  for (size_t i = 9; i <= 30; i += 21) {  // of steps 3 and 10 of the first communicator
    MatchedInstance& instance = run.match.instances[i];
    const auto lost = static_cast<size_t>(instance.members[0].row);
    std::vector<ArrivalNode>& rows = run.graph.ranks[0];
    rows[lost + 1].segment.compute_ns += rows[lost].segment.compute_ns;
    rows[lost + 1].segment.begin_ns = rows[lost].segment.begin_ns;
    ASSERT_TRUE(LoseRecord(run, instance, 0));
  }
  const std::vector<RankOwnTime> own = TestLateness(run.ranks, run.match, run.graph, std::nullopt).own;
  for (size_t step = 1; step < own[0].own_ns.size(); ++step) {
    const double of_step = own[0].own_ns[step];
    EXPECT_TRUE(std::isnan(of_step) || std::abs(of_step - own[2].own_ns[step]) < 2e6) << step << " " << of_step;
  }
  EXPECT_TRUE(std::isnan(own[0].own_ns[3]) && std::isnan(own[0].own_ns[10]));
}

// Two ranks that compute pieces of 1 ms and transfer each of them beside the next one, as gradients are. In each step
// the second one begins 500 us later, because it had to wait for something else, and then keeps pace.
class GradientRun {
 public:
  // `weights`: that the pieces need are gathered beside them, and the segments hold the gathering and not the
  // computing.
  explicit GradientRun(int64_t slower_ns, bool weights = false) : weights_(weights) {
    PacedShape shape;
    shape.gpus = kRanks;
    shape.steps = 0;
    run_ = MakePacedRun(shape, 1);
    const int64_t pace_ns[kRanks] = {kMs, kMs + slower_ns};
    for (int64_t step = 0; step < 12; ++step) {
      Transfer(step, {now_ns_, now_ns_}, 0);
      const int64_t began_ns = now_ns_;
      for (int64_t piece = 1; piece <= kPieces; ++piece) {
        Transfer(step, {began_ns + piece * pace_ns[0], began_ns + kBehindNs + piece * pace_ns[1]}, piece);
      }
      now_ns_ += kMs;
    }
    for (size_t r = 0; r < kRanks; ++r) SetWork(covers_[r], run_.graph.ranks[r]);
  }

  [[nodiscard]] double MeanExcess() const {
    std::vector<double> excess = TestLateness(run_.ranks, run_.match, run_.graph, std::nullopt).own[1].excess_ns;
    std::erase_if(excess, [](double value) { return std::isnan(value); });
    return MeanOf(excess);
  }

 private:
  static constexpr size_t kRanks = 2;
  static constexpr int64_t kMs = 1'000'000;
  static constexpr int64_t kBehindNs = 500'000;
  static constexpr int64_t kTransferNs = 300'000;
  static constexpr int64_t kPieces = 6;

  // Starts of the two ranks. `piece`: that was computed before it; 0: the step begins. They compute beside all but the
  // last one.
  void Transfer(int64_t step, std::array<int64_t, kRanks> starts, int64_t piece) {
    const int64_t end = std::max(starts[0], starts[1]) + kTransferNs;
    MatchedInstance instance;
    instance.op = CollectiveOp::kAllReduce;
    instance.step = step;
    instance.kind = MatchKind::kId;
    instance.confidence = 1;
    instance.complete = instance.comparable = instance.resolvable = instance.last_certain = instance.all_pairs = true;
    for (size_t r = 0; r < kRanks; ++r) {
      std::vector<ArrivalNode>& rows = run_.graph.ranks[r];
      ArrivalNode node;
      node.start_ns = starts[r];
      node.end_ns = end;
      node.instance = static_cast<int64_t>(run_.match.instances.size());
      node.step = step;
      node.previous = last_[r];
      if (!rows.empty()) {
        const int64_t begin = rows.back().end_ns;
        const int64_t length = starts[r] - begin;
        node.segment.begin_ns = begin;
        if (piece == 1 && r == 1) node.segment.other_comm_ns = Receive(rows);
        const bool gathers = weights_ && piece > 1;
        if (gathers) node.segment.other_comm_ns = Gather(r, begin, length);
        node.segment.compute_ns = length - node.segment.other_comm_ns;
      }
      MatchedMember member;
      member.rank_index = static_cast<int32_t>(r);
      member.row = static_cast<int64_t>(rows.size());
      member.start_ns = starts[r];
      member.end_ns = end;
      instance.members.push_back(member);
      last_[r] = member.row;
      rows.push_back(node);
      covers_[r].emplace_back();
      if (piece > 0 && piece < kPieces) covers_[r].back().push_back({0, end - starts[r]});
      run_.match.arrivals[r].push_back({std::max(starts[0], starts[1]), true, true});
    }
    run_.graph.order.push_back(static_cast<uint32_t>(run_.match.instances.size()));
    run_.graph.ties.push_back(true);
    run_.match.instances.push_back(instance);
    now_ns_ = end;
  }

  // What the second rank waits for; returns for how long.
  int64_t Receive(std::vector<ArrivalNode>& rows) {
    AddOther(1, rows.back().end_ns, kBehindNs);
    return kBehindNs;
  }

  int64_t Gather(size_t rank, int64_t begin_ns, int64_t length_ns) {
    AddOther(rank, begin_ns, length_ns);
    covers_[rank].back().push_back({0, length_ns});
    return length_ns;
  }

  void AddOther(size_t rank, int64_t begin_ns, int64_t length_ns) {
    ArrivalNode node;
    node.start_ns = begin_ns;
    node.end_ns = begin_ns + length_ns;
    run_.graph.ranks[rank].push_back(node);
    covers_[rank].emplace_back();
    run_.match.arrivals[rank].push_back({node.end_ns, true, true});
  }

  bool weights_ = false;
  PacedRun run_;
  std::array<std::vector<Few<std::pair<int64_t, int64_t>>>, kRanks> covers_;
  std::array<int64_t, kRanks> last_ = {-1, -1};  // row of the previous instance
  int64_t now_ns_ = kMs;
};

TEST(OwnTime, WhoIsBehindWhileItComputesBesideTransfersIsNotLateAnewAtEachOfThem) {
  EXPECT_NEAR(GradientRun(0).MeanExcess(), 0, 1'000);
}

TEST(OwnTime, WhoComputesLongerBesideTransfersIsLateByThatMuch) {
  EXPECT_NEAR(GradientRun(20'000).MeanExcess(), 6 * 20'000, 1'000);
}

TEST(OwnTime, WhatIsComputedBesideOtherCommunicationCounts) {
  EXPECT_NEAR(GradientRun(0, true).MeanExcess(), 0, 1'000);
  EXPECT_NEAR(GradientRun(20'000, true).MeanExcess(), 6 * 20'000, 1'000);
}

}  // namespace
}  // namespace lockstep
