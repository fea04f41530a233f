// Kernel names alone, and several communicators on one stream: apart, or ambiguous, never merged.
#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>

#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/match/cluster_run.h"

namespace lockstep {
namespace {

// Tensor groups of neighbours and rails across them, all on one stream.
ClusterShape Shared(int32_t hosts, CollectiveOp rails, int32_t rails_per_step) {
  ClusterShape shape;
  shape.hosts = hosts;
  shape.gpus_per_host = 4;
  shape.one_stream = true;
  shape.offset_ns = hosts > 1 ? 3 * kMs : 0;
  const int32_t world = hosts * 4;
  const int32_t tp = hosts > 1 ? 4 : 2;
  shape.kinds = {{Neighbours(world, tp), 24}, {Rails(world, tp), rails_per_step, 100 * kUs, 40 * kUs, rails}};
  return shape;
}

class SharedStream : public testing::TestWithParam<std::tuple<int32_t, CollectiveOp, int32_t>> {};

TEST_P(SharedStream, CommunicatorsOnItAreNeverMerged) {
  const auto& [hosts, rails, per_step] = GetParam();
  for (const uint64_t seed : {1U, 2U, 3U}) {
    ClusterShape shape = Shared(hosts, rails, per_step);
    shape.seed = seed;
    const auto [run, score] = Score(shape);
    EXPECT_EQ(score.right, score.claimed);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, SharedStream,
                         testing::Combine(testing::Values(1, 2),
                                          testing::Values(CollectiveOp::kAllReduce, CollectiveOp::kAllGather),
                                          testing::Values(1, 8, 24)));

TEST(SharedStreamRows, TheBusyCommunicatorIsJoinedAndTheOtherOneIsAmbiguous) {
  const auto [run, score] = Score(Shared(2, CollectiveOp::kAllReduce, 2));
  EXPECT_GE(score.found, 24 * 40 * 2 * 9 / 10);
  EXPECT_GE(run.match.drops.Of(DropReason::kAmbiguousInstance), 2 * 40 * 8 * 95 / 100);
}

// A batch that grows and shrinks: many short collectives, then a few long ones, all of all ranks.
TEST(SharedStreamRows, ShortOnesOfACommunicatorEndNoCloserThanItsLongOnes) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    ClusterShape shape;
    shape.gpus_per_host = 8;
    shape.one_stream = true;
    shape.offset_ns = 3 * kMs;
    shape.loss = 0.005;
    shape.steps = 20;
    shape.kinds = {{Neighbours(16, 16), 16, 60 * kUs, 30 * kUs}, {Neighbours(16, 16), 8, 400 * kUs, 700 * kUs}};
    shape.seed = seed;
    const auto [run, score] = Score(shape);
    EXPECT_EQ(score.right, score.claimed);
    EXPECT_GE(score.recall(), 0.995);
    EXPECT_LE(score.open(), 0.005);
  }
}

// Sharded training: long transfers, whose members end one after the other, and short ones after them.
ClusterShape Sharded(const std::vector<std::vector<int32_t>>& short_groups, uint64_t seed) {
  ClusterShape shape;
  shape.hosts = 4;
  shape.one_stream = true;
  shape.offset_ns = 20 * kMs;
  shape.drift_ppm = 1;
  shape.bias_ns = 2'000;
  shape.kinds = {{Neighbours(16, 16), 6, 60 * kUs, 8 * kMs}, {short_groups, 3, 60 * kUs, 26 * kUs}};
  shape.kinds[0].op = CollectiveOp::kAllGather;
  shape.kinds[0].hop_ns = 570;
  shape.seed = seed;
  return shape;
}

TEST(SharedStreamRows, ShortOnesAfterTransfersThatEndAlongARingAreJoined) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    const auto [run, score] = Score(Sharded(Neighbours(16, 16), seed));
    EXPECT_EQ(score.right, score.claimed);
    EXPECT_GE(score.recall(), 0.98) << seed;
  }
}

TEST(SharedStreamRows, ShortOnesOfPairsAfterSuchTransfersAreNeverMerged) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    for (const int64_t jitter_ns : {3'000, 10'000}) {
      ClusterShape shape = Sharded(Neighbours(16, 2), seed);
      shape.arrival_jitter_ns = jitter_ns;
      const auto [run, score] = Score(shape);
      EXPECT_EQ(score.right, score.claimed) << seed << " " << jitter_ns;
      EXPECT_GT(score.claimed, 0);
    }
  }
}

TEST(SharedStreamRows, AFewShortOnesOfOthersBetweenLongOnesAreNeverMerged) {
  for (const uint64_t seed : {1U, 2U, 3U}) {
    ClusterShape shape = Shared(2, CollectiveOp::kAllReduce, 3);
    shape.kinds[0] = {Neighbours(8, 4), 12, 60 * kUs, 150 * kUs};
    shape.kinds[1].compute_ns = 60 * kUs;
    shape.kinds[1].transfer_ns = 12 * kUs;
    shape.seed = seed;
    const auto [run, score] = Score(shape);
    EXPECT_EQ(score.right, score.claimed);
    EXPECT_GT(score.claimed, 12 * 40);
  }
}

}  // namespace
}  // namespace lockstep
