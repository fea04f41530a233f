// Joins of whole simulated clusters, against their truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/metrics/match/run_matcher.h"
#include "analysis/model/instance_row.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/match/cluster_run.h"

namespace lockstep {
namespace {

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

// The shards of the parameters are gathered by ranks of different hosts, whose neighbours, kept in step by a tensor
// group, gather theirs at nearly the same time: not so close together, but close enough for so long an operation.
TEST(ClusterMembership, ShardsAreGatheredAcrossHostsAndNotByTheTensorGroup) {
  for (const uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    for (const int32_t hosts : {2, 4}) {
      ClusterShape shape;
      shape.hosts = hosts;
      shape.gpus_per_host = 8 / hosts * 2;
      shape.kinds = {{Neighbours(16, 8), 8, kMs, 200 * kUs},
                     {Rails(16, 8), 4, kMs, 560 * kUs, CollectiveOp::kAllGather},
                     {Neighbours(16, 16), 1, kMs, 30 * kUs}};
      shape.seed = seed;
      shape.offset_ns = 3 * kMs;
      const auto [run, score] = Score(shape);
      EXPECT_EQ(score.right, score.claimed) << hosts << " hosts, seed " << seed;
      EXPECT_GE(score.recall(), 0.995) << hosts << " hosts, seed " << seed;
    }
  }
}

// Every rank's trace is of another run of the same program: the operations agree, the times do not.
TEST(ClusterBadInput, RanksOfDifferentRunsAreNeverAConfidentMatchByTime) {
  ClusterShape shape = Decode(1, 4);
  shape.told = Told::kNames;
  RunBuilder builder;
  for (int32_t r = 0; r < 4; ++r) {
    shape.seed = static_cast<uint64_t>(r + 1);
    RunBuilder other;
    ClusterRun(shape).Tell(other);
    const BuiltRun built = other.Build();
    SourceBuilder& source = builder.AddRank(r);
    source.World(4).Host("host0");
    const uint32_t unknown = source.UnknownGroup();
    const auto from = std::find_if(built.run.sources.begin(), built.run.sources.end(),
                                   [&](const SourceData& s) { return s.context.device == r; });
    ASSERT_NE(from, built.run.sources.end());
    VectorInstanceSource rows = built.instances;
    for (const InstanceRow& row : rows.rows()[static_cast<size_t>(from - built.run.sources.begin())]) {
      InstanceRow& copy = source.Collective(unknown, row.op, row.start_ns, row.duration_ns);
      copy.stream = row.stream;
      copy.dtype = row.dtype;
    }
  }
  const MatchedRun run = Match(builder);
  for (const MatchedInstance& i : run.match.instances) EXPECT_FALSE(i.usable());
  EXPECT_GT(run.match.drops.Of(DropReason::kNoGroup) + run.match.drops.Of(DropReason::kAmbiguousInstance), 0);
}

TEST(ClusterBadInput, ARankWithHalfItsRowsSpoilsNoMatchOfTheOthers) {
  ClusterShape shape = Decode(1, 4);
  shape.told = Told::kGroups;
  const ClusterRun truth(shape);
  RunBuilder whole;
  truth.Tell(whole);
  BuiltRun built = whole.Build();
  for (size_t s = 0; s < built.run.sources.size(); ++s) {
    if (built.run.sources[s].context.device != 2) continue;
    std::vector<InstanceRow>& rows = built.instances.rows()[s];
    std::vector<InstanceRow> kept;
    for (size_t i = 0; i < rows.size(); i += 2) kept.push_back(rows[i]);
    rows = std::move(kept);
  }
  const RankResolution ranks = ResolveRanks(built.run, {});
  InlineExecutor executor;
  MatchedRun run{std::move(built), ranks, {}};
  run.match = *MatchRun(run.built.run, run.built.instances, ranks, executor);
  const ClusterRun::Score score = truth.Compare(run);
  EXPECT_EQ(score.right, score.claimed);
  EXPECT_GE(score.recall(), 0.45);
  EXPECT_FALSE(run.match.breaks.empty());
}

INSTANTIATE_TEST_SUITE_P(Cluster, EveryLevel,
                         testing::Combine(testing::Values(Told::kIds, Told::kGroups, Told::kNames),
                                          testing::Values(1U, 2U, 3U)));

}  // namespace
}  // namespace lockstep
