// Roots of rooted operations told from who ended before whom.
#include "analysis/metrics/match/roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analysis/metrics/match/instance_words.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/match/one_clock.h"

namespace lockstep {
namespace {

constexpr int64_t kNeedsNs = 20 * kUs;  // of the operation once its data is there

JoinedInstance Rooted(CollectiveOp op, const std::vector<int64_t>& starts, const std::vector<int64_t>& ends) {
  JoinedInstance joined;
  joined.instance.op = op;
  joined.instance.confidence = 1;
  for (size_t i = 0; i < starts.size(); ++i) {
    MatchedMember member;
    member.rank_index = static_cast<int32_t>(i);
    member.start_ns = starts[i];
    member.end_ns = ends[i];
    joined.instance.members.push_back(member);
  }
  return joined;
}

// As it happens: who receives ends after its own start and the root's, the root once it has sent.
JoinedInstance Broadcast(const std::vector<int64_t>& starts, size_t root) {
  std::vector<int64_t> ends;
  for (size_t i = 0; i < starts.size(); ++i) ends.push_back(std::max(starts[i], starts[root]) + kNeedsNs);
  return Rooted(CollectiveOp::kBroadcast, starts, ends);
}

// As late as somebody is in instance `i`.
int64_t LateNs(int i) { return (150 + 7 * (i % 5)) * kUs; }

// The root ends when the last one has come, the others when they have sent.
JoinedInstance Reduce(const std::vector<int64_t>& starts, size_t root) {
  std::vector<int64_t> ends;
  for (const int64_t start : starts) ends.push_back(start + kNeedsNs);
  ends[root] = *std::max_element(starts.begin(), starts.end()) + kNeedsNs;
  return Rooted(CollectiveOp::kReduce, starts, ends);
}

std::vector<int32_t> RootsOf(std::vector<JoinedInstance> joined) {
  const ClockModel clock = OneClock(static_cast<int32_t>(joined.front().instance.members.size()));
  for (JoinedInstance& j : joined) {
    FillMembership(j, static_cast<int32_t>(j.instance.members.size()), false, clock);
  }
  InferRoots(clock, joined);
  std::vector<int32_t> roots;
  for (const JoinedInstance& j : joined) roots.push_back(j.root);
  return roots;
}

TEST(Roots, WhoIsLateAndStillAwaitedIsTheRoot) {
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 8; ++i) joined.push_back(Broadcast({LateNs(i), 0, 5 * kUs, 9 * kUs}, 0));
  EXPECT_EQ(RootsOf(joined), std::vector<int32_t>(8, 0));
}

TEST(Roots, WhoIsLateAndNotAwaitedIsNot) {
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 5; ++i) joined.push_back(Broadcast({0, 3 * kUs, 5 * kUs, 150 * kUs}, 0));
  EXPECT_EQ(RootsOf(joined), std::vector<int32_t>(5, kNoRoot));
}

TEST(Roots, NoiseTellsNothingWrong) {
  std::mt19937 random(3);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 200; ++i) {
    std::vector<int64_t> starts;
    for (int r = 0; r < 4; ++r) starts.push_back(static_cast<int64_t>(random() % 6'000));
    joined.push_back(Broadcast(starts, 2));
  }
  for (const int32_t root : RootsOf(joined)) EXPECT_THAT(root, testing::AnyOf(kNoRoot, 2));
}

TEST(Roots, EachInstanceTellsItsOwnRootAndNothingOfOthers) {
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 8; ++i) joined.push_back(Broadcast({LateNs(i), 0, 0}, 0));
  joined.push_back(Broadcast({kUs, 0, 0}, 0));
  for (int i = 0; i < 8; ++i) joined.push_back(Broadcast({0, LateNs(i), 0}, 1));
  std::vector<int32_t> roots(17, 0);
  roots[8] = kNoRoot;
  std::fill(roots.begin() + 9, roots.end(), 1);
  EXPECT_EQ(RootsOf(joined), roots);
}

TEST(Roots, FewInstancesTellNothing) {
  EXPECT_EQ(RootsOf({Broadcast({150 * kUs, 0, 0}, 0), Broadcast({150 * kUs, 0, 0}, 0)}),
            std::vector<int32_t>(2, kNoRoot));
}

// A late leaf finds its data in the buffers and takes little time; that it comes later than that makes it no root.
TEST(Roots, LeavesThatComeLateByTurnsIntoALongOperationAreNotTheRoot) {
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 40; ++i) {
    const int64_t takes_ns = 200 * kUs + (i % 3) * kUs;
    const std::vector<int64_t> starts = {0, kUs, i % 2 == 0 ? LateNs(i) : 0, i % 2 == 1 ? LateNs(i) : 0};
    std::vector<int64_t> ends;
    for (const int64_t start : starts) ends.push_back(std::max(takes_ns, start + 5 * kUs));
    joined.push_back(Rooted(CollectiveOp::kBroadcast, starts, ends));
  }
  EXPECT_EQ(RootsOf(joined), std::vector<int32_t>(40, kNoRoot));
}

// How long an operation of a few microseconds takes is shown by none of them: a late leaf finds its data. But usually
// nobody takes longer than 30 us, and at times all wait for milliseconds.
JoinedInstance WithStalls(std::mt19937& random, int64_t stall_ns, size_t who_stalls) {
  std::uniform_int_distribution<int64_t> jitter(0, 15 * kUs);
  std::vector<int64_t> starts;
  for (int rank = 0; rank < 4; ++rank) starts.push_back(jitter(random));
  starts[who_stalls] += stall_ns;
  std::vector<int64_t> ends;
  for (const int64_t start : starts) ends.push_back(std::max(starts[0] + 5 * kUs, start + 2 * kUs));
  return Rooted(CollectiveOp::kBroadcast, starts, ends);
}

TEST(Roots, WhoStallsAFewTimesAndIsAwaitedEachTimeIsTheRoot) {
  std::mt19937 random(5);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 20; ++i) joined.push_back(WithStalls(random, i % 6 == 2 ? 9'000 * kUs + i * kUs : 0, 0));
  const std::vector<int32_t> roots = RootsOf(joined);
  for (size_t i = 0; i < roots.size(); ++i) {
    EXPECT_TRUE(roots[i] == 0 || (roots[i] == kNoRoot && i % 6 != 2)) << i;
  }
}

TEST(Roots, ALeafThatStallsAFewTimesIsNotTheRoot) {
  std::mt19937 random(6);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 20; ++i) joined.push_back(WithStalls(random, i % 6 == 2 ? 9'000 * kUs + i * kUs : 0, 2));
  for (const int32_t root : RootsOf(joined)) EXPECT_TRUE(root == 0 || root == kNoRoot);
}

// A few of the operations are slow, of another size that the trace does not tell, and a leaf comes late into them.
TEST(Roots, ALateLeafOfSlowOperationsAmongQuickOnesIsNotTheRoot) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int64_t> late(0, 400 * kUs);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<JoinedInstance> joined;
    for (int i = 0; i < 40; ++i) {
      joined.push_back(WithStalls(random, 0, 0));
      if (i % 5 != 0) continue;
      std::vector<MatchedMember>& members = joined.back().instance.members;
      members[3].start_ns = late(random);
      for (MatchedMember& m : members) m.end_ns = std::max<int64_t>(300 * kUs, m.start_ns + 5 * kUs);
    }
    for (const int32_t root : RootsOf(joined)) EXPECT_NE(root, 3) << trial;
  }
}

// A rank whose lateness never varies: the others may have waited for it, or the operation takes that long.
TEST(Roots, WhereLatenessNeverVariesNothingTellsARootFromALeaf) {
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 40; ++i) joined.push_back(Broadcast({150 * kUs, 0, 5 * kUs, 9 * kUs}, 0));
  EXPECT_EQ(RootsOf(joined), std::vector<int32_t>(40, kNoRoot));
}

// Less late than the operation takes: how long the other one took shows that it waited.
TEST(Roots, WhoTookClearlyLongerThanTheOperationDoesWaited) {
  std::vector<JoinedInstance> joined;
  for (int64_t i = 0; i < 20; ++i) {
    const int64_t late_ns = i % 2 == 0 ? kNeedsNs / 2 : 0;
    joined.push_back(Reduce({0, late_ns}, 0));
  }
  const std::vector<int32_t> roots = RootsOf(joined);
  for (size_t i = 0; i < roots.size(); ++i) EXPECT_EQ(roots[i], i % 2 == 0 ? 0 : kNoRoot) << i;
}

// A leaf that comes late into an operation that takes long at times is not what the others waited for.
TEST(Roots, WhereTheOperationTakesLongAtTimesALateLeafIsNotTheRoot) {
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 20; ++i) {
    const int64_t takes = i % 5 == 0 ? 15 * kUs : 200 * kUs;
    const std::vector<int64_t> starts = {0, kUs, 2 * kUs, 60 * kUs};
    std::vector<int64_t> ends;
    for (const int64_t start : starts) ends.push_back(start + takes);
    joined.push_back(Rooted(CollectiveOp::kBroadcast, starts, ends));
  }
  EXPECT_EQ(RootsOf(joined), std::vector<int32_t>(20, kNoRoot));
}

// All wait for the absent root, and the last of those that are there looks like it.
TEST(Roots, WhereAMemberHasNoRecordNoRootIsTold) {
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 8; ++i) joined.push_back(Broadcast({LateNs(i), 0, 0}, 0));
  const ClockModel clock = OneClock(3);
  for (JoinedInstance& j : joined) FillMembership(j, 4, false, clock);
  InferRoots(clock, joined);
  for (const JoinedInstance& j : joined) EXPECT_EQ(j.root, kNoRoot);
}

// Whoever is root and however late: a root that is told is the true one.
TEST(Roots, OfRandomOperationsNoneIsToldWrongly) {
  std::mt19937 random(11);
  int64_t told = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const size_t ranks = 2 + random() % 7;
    const size_t root = random() % ranks;
    const bool reduce = random() % 2 == 0;
    std::vector<JoinedInstance> joined;
    for (int i = 0; i < 12; ++i) {
      std::vector<int64_t> starts;
      for (size_t r = 0; r < ranks; ++r) starts.push_back(static_cast<int64_t>(random() % 60'000));
      starts[random() % ranks] += static_cast<int64_t>(random() % 300'000);
      joined.push_back(reduce ? Reduce(starts, root) : Broadcast(starts, root));
    }
    for (const int32_t found : RootsOf(joined)) {
      if (found == kNoRoot) continue;
      ASSERT_EQ(found, static_cast<int32_t>(root)) << trial;
      ++told;
    }
  }
  EXPECT_GT(told, 200);
}

}  // namespace
}  // namespace lockstep
