#include "analysis/metrics/replay/replay_peers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/timeline_run.h"

namespace lockstep {
namespace {

constexpr int32_t kWide = 256;
constexpr double kMeanNs = 500 * kUs;
constexpr double kDeviationNs = 20 * kUs;

// One communicator of all ranks, whose work varies from rank to rank and from step to step.
GraphedRun WideRun(uint64_t seed, int32_t ranks) {
  std::vector<int32_t> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  TimelineRun run(ranks, {all});
  std::mt19937_64 random(seed);
  std::normal_distribution<double> work(kMeanNs, kDeviationNs);
  for (int64_t step = 0; step < 4; ++step) {
    run.SetStep(step);
    for (int32_t rank = 0; rank < ranks; ++rank) run.Work(rank, std::llround(work(random)));
    run.Meet(0, 100 * kUs);
  }
  return MakeGraph(run);
}

int64_t DeviceNs(const ReplayNode& node) { return node.device_ns; }

struct WithPeers {
  explicit WithPeers(const GraphedRun& run)
      : graph(BuildReplayGraph(run.graph, run.matched.match, executor)), peers(graph, run.matched.match) {}

  // Of a rank's last row, with every `nth` rank from `first` on in the scope.
  [[nodiscard]] std::optional<PeerLevel> LevelWithout(size_t rank, size_t first, size_t nth) const {
    std::vector<bool> in_scope(graph.first.size() - 1);
    for (size_t r = first; r < in_scope.size(); r += nth) in_scope[r] = true;
    return peers.Level(static_cast<int32_t>(graph.first[rank + 1] - 1), in_scope, DeviceNs);
  }

  InlineExecutor executor;
  ReplayGraph graph;
  ReplayPeers peers;
};

TEST(ReplayPeers, AllOfAnInstanceAreAskedWhereTheyAreFew) {
  const GraphedRun run = WideRun(1, static_cast<int32_t>(ReplayPeers::kMostAsked));
  const WithPeers few(run);
  const auto level = few.LevelWithout(5, 5, ReplayPeers::kMostAsked);
  ASSERT_TRUE(level);
  EXPECT_EQ(level->peers, static_cast<int64_t>(ReplayPeers::kMostAsked) - 1);
}

TEST(ReplayPeers, ASampleStandsForAWideInstanceWithinWhatItsNoiseAllows) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const GraphedRun run = WideRun(seed, kWide);
    const WithPeers wide(run);
    const auto level = wide.LevelWithout(77, 77, kWide);
    ASSERT_TRUE(level) << seed;
    EXPECT_LE(level->peers, static_cast<int64_t>(ReplayPeers::kMostAsked)) << seed;
    EXPECT_NEAR(level->mean_ns, kMeanNs, 4 * kDeviationNs / std::sqrt(ReplayPeers::kMostAsked)) << seed;
    EXPECT_NEAR(std::sqrt(level->variance_ns2), kDeviationNs, kDeviationNs / 2) << seed;
  }
}

// GPU ordinals, hosts, stages: a regular part of the ranks.
TEST(ReplayPeers, NoRegularScopeHoldsMuchMoreOfTheSampleThanOfTheRanks) {
  const GraphedRun run = WideRun(3, kWide);
  const WithPeers wide(run);
  for (const size_t nth : {2, 4, 8, 16, 32}) {
    for (size_t first = 0; first < nth; ++first) {
      const auto level = wide.LevelWithout(first, first, nth);
      ASSERT_TRUE(level) << nth << " " << first;
      const double outside = ReplayPeers::kMostAsked * (1 - 1 / static_cast<double>(nth));
      EXPECT_GE(static_cast<double>(level->peers), 0.6 * outside) << nth << " " << first;
    }
  }
}

TEST(ReplayPeers, EachInstanceOfACommunicatorAsksTheSameRanks) {
  const GraphedRun run = WideRun(4, kWide);
  const WithPeers wide(run);
  std::vector<int64_t> asked(kWide);  // by rank, over the instances that have peers
  const std::vector<bool> nobody(kWide);
  for (size_t n = wide.graph.first[0]; n < wide.graph.first[1]; ++n) {
    wide.peers.ForEachPeer(static_cast<int32_t>(n), nobody,
                           [&](const ReplayNode& other) { ++asked[static_cast<size_t>(other.rank)]; });
  }
  for (const int64_t times : asked) EXPECT_TRUE(times == 0 || times == 3) << times;
  EXPECT_EQ(std::accumulate(asked.begin(), asked.end(), int64_t{0}), 3 * static_cast<int64_t>(ReplayPeers::kMostAsked));
}

}  // namespace
}  // namespace lockstep
