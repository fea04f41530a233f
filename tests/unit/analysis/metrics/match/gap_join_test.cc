// Rooted operations between anchors, where ranks have lost some of them: the group is told, ids are not.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>

#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

constexpr int32_t kDpRanks = 4;
constexpr int32_t kSteps = 12;
constexpr int32_t kBuckets = 5;
constexpr int64_t kSmall = 64;
constexpr int64_t kLarge = 1 << 26;

using Lost = std::function<bool(int32_t rank, int32_t step, int32_t bucket)>;  // bucket kBuckets: the small reduce

int64_t StepStart(int32_t step) { return 1'000'000 + step * 4'000 * kUs; }

// Per step: an all-reduce (the anchor), equal large broadcasts back to back, a small reduce whose members end when they
// have sent, however long before the root.
MatchedRun MatchWithout(const Lost& lost, const Lost& anchor_lost) {
  RunBuilder builder;
  for (int32_t r = 0; r < kDpRanks; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(kDpRanks);
    const uint32_t group = source.Group("dp", {0, 1, 2, 3});
    for (int32_t s = 0; s < kSteps; ++s) {
      const int64_t jitter = (r * 5 + s * 3) % 7 * kUs;
      if (!anchor_lost(r, s, 0)) {
        source.Collective(group, CollectiveOp::kAllReduce, StepStart(s) - jitter, 30 * kUs + jitter).bytes = 4;
      }
      for (int32_t b = 0; b < kBuckets; ++b) {
        const int64_t start = StepStart(s) + (100 + 250 * b) * kUs - jitter;
        const int64_t end = StepStart(s) + (340 + 250 * b) * kUs + (r + b) % 3 * kUs;
        if (!lost(r, s, b)) source.Collective(group, CollectiveOp::kBroadcast, start, end - start).bytes = kLarge;
      }
      const int64_t reduce = StepStart(s) + (2'000 + (s % 4 == r ? 150 : 0)) * kUs;
      if (!lost(r, s, kBuckets)) source.Collective(group, CollectiveOp::kReduce, reduce, 20 * kUs).bytes = kSmall;
    }
  }
  return Match(builder);
}

bool Never(int32_t, int32_t, int32_t) { return false; }

// Members of one instance are of one step, and large ones end within a part of their duration.
bool IsRight(const MatchedInstance& instance) {
  const MatchedMember& first = instance.members.front();
  for (const MatchedMember& m : instance.members) {
    const int64_t apart = std::abs(m.end_ns - first.end_ns);
    if (apart > (instance.bytes == kSmall ? 1'000 * kUs : 50 * kUs)) return false;
  }
  return true;
}

// Confidently joined rows of rooted operations.
int64_t JoinedRows(const MatchedRun& run) {
  int64_t rows = 0;
  for (const MatchedInstance& i : run.match.instances) {
    const bool rooted = i.op == CollectiveOp::kBroadcast || i.op == CollectiveOp::kReduce;
    if (!rooted || !i.matched() || i.confidence < 0.99) continue;
    EXPECT_TRUE(IsRight(i));
    rows += static_cast<int64_t>(i.members.size());
  }
  return rows;
}

TEST(GapJoin, RanksThatLostSomeOfEqualBroadcastsAreJoinedByTheirEnds) {
  const Lost lost = [](int32_t r, int32_t s, int32_t b) { return (s * 6 + b) % 5 == 0 && r == (s + b) % kDpRanks; };
  int64_t recorded = 0;
  for (int32_t r = 0; r < kDpRanks; ++r) {
    for (int32_t s = 0; s < kSteps; ++s) {
      for (int32_t b = 0; b <= kBuckets; ++b) recorded += lost(r, s, b) ? 0 : 1;
    }
  }
  EXPECT_EQ(JoinedRows(MatchWithout(lost, Never)), recorded);
}

TEST(GapJoin, RanksThatLostAsManyButOthersAreNotJoinedInOrder) {
  const Lost lost = [](int32_t r, int32_t s, int32_t b) { return s == 3 && b == (r < 2 ? 1 : 3); };
  EXPECT_EQ(JoinedRows(MatchWithout(lost, Never)), kDpRanks * (kSteps * (kBuckets + 1) - 1));
}

TEST(GapJoin, ALostAnchorCostsNoneOfTheRowsAroundIt) {
  const Lost anchor = [](int32_t r, int32_t s, int32_t) { return s % 4 == 2 && r == s % 3; };
  EXPECT_EQ(JoinedRows(MatchWithout(Never, anchor)), kDpRanks * kSteps * (kBuckets + 1));
}

}  // namespace
}  // namespace lockstep
