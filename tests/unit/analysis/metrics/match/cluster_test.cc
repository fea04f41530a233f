// Joins of whole simulated clusters, against their truth.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/unit/analysis/metrics/match/cluster_run.h"

namespace lockstep {
namespace {

constexpr int64_t kUs = 1'000;
constexpr int64_t kMs = 1'000'000;

struct Scored {
  MatchedRun run;
  ClusterRun::Score score;
};

Scored Score(const ClusterShape& shape) {
  const ClusterRun truth(shape);
  RunBuilder builder;
  truth.Tell(builder);
  Scored out{Match(builder), {}};
  out.score = truth.Compare(out.run);
  return out;
}

// Tensor-parallel decoding: one group a host, in lockstep only as far as a collective over all ranks makes it.
ClusterShape Decode(int32_t hosts, int32_t tp) {
  ClusterShape shape;
  shape.hosts = hosts;
  shape.gpus_per_host = 4;
  const int32_t world = hosts * 4;
  shape.kinds = {{Neighbours(world, tp), 32}};
  if (tp < world) shape.kinds.push_back({Rails(world, tp), 2, 100 * kUs, 60 * kUs});
  return shape;
}

class EveryLevel : public testing::TestWithParam<std::tuple<Told, uint64_t>> {};

TEST_P(EveryLevel, LostRowsInsideOneHostCostNoOtherMatch) {
  ClusterShape shape = Decode(1, 2);
  std::tie(shape.told, shape.seed) = GetParam();
  shape.loss = 0.01;
  shape.bias_ns = 5 * kUs;
  const auto [run, score] = Score(shape);
  EXPECT_EQ(score.right, score.claimed);
  EXPECT_GE(score.recall(), 0.995);
}

TEST_P(EveryLevel, OneGroupOverHostsIsJoinedWhateverTheirClocksShow) {
  ClusterShape shape = Decode(4, 16);
  std::tie(shape.told, shape.seed) = GetParam();
  shape.loss = 0.005;
  shape.offset_ns = 5 * kMs;
  shape.drift_ppm = 20;
  shape.stagger_ns = 20 * kMs;
  const auto [run, score] = Score(shape);
  EXPECT_EQ(score.right, score.claimed);
  EXPECT_GE(score.recall(), 0.995);
}

TEST_P(EveryLevel, GroupsInLockstepAreKeptApart) {
  ClusterShape shape = Decode(4, 4);
  std::tie(shape.told, shape.seed) = GetParam();
  shape.loss = 0.01;
  shape.offset_ns = 5 * kMs;
  shape.drift_ppm = 20;
  shape.bias_ns = 3 * kUs;
  shape.stagger_ns = 20 * kMs;
  const auto [run, score] = Score(shape);
  EXPECT_EQ(score.right, score.claimed);
  EXPECT_GE(score.recall(), 0.995);
}

TEST(ClusterBreaks, ALostRowIsReportedWhereItIsMissing) {
  ClusterShape shape = Decode(1, 4);
  shape.told = Told::kGroups;
  shape.loss = 0.01;
  const auto [run, score] = Score(shape);
  int64_t lacking = 0;
  for (const MatchedInstance& i : run.match.instances)
    lacking += i.matched() ? 4 - static_cast<int64_t>(i.members.size()) : 0;
  int64_t reported = 0;
  for (const SequenceBreak& b : run.match.breaks) reported += b.missing;
  EXPECT_GT(lacking, 0);
  EXPECT_EQ(reported, lacking);
}

TEST(ClusterMembership, DecoysInLockstepAreNeverMerged) {
  for (const uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    ClusterShape shape = Decode(2, 2);
    shape.seed = seed;
    shape.offset_ns = 3 * kMs;
    const auto [run, score] = Score(shape);
    for (const Communicator& c : run.match.communicators) EXPECT_LE(c.members.size(), 4U);
    EXPECT_EQ(score.right, score.claimed);
  }
}

INSTANTIATE_TEST_SUITE_P(Cluster, EveryLevel,
                         testing::Combine(testing::Values(Told::kIds, Told::kGroups, Told::kNames),
                                          testing::Values(1U, 2U, 3U)));

}  // namespace
}  // namespace lockstep
