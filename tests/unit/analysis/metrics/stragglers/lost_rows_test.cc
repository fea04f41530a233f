// When ranks took part in communication without a record of it.
#include "analysis/metrics/stragglers/lost_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace lockstep {
namespace {

MatchedInstance EndingAt(int64_t end_ns, const std::vector<int32_t>& ranks, uint32_t communicator, size_t size) {
  MatchedInstance instance;
  instance.communicator = communicator;
  instance.op = CollectiveOp::kAllReduce;
  instance.confidence = 1;
  instance.comparable = ranks.size() > 1;
  instance.lacking = ranks.size() < size;
  for (const int32_t rank : ranks) {
    MatchedMember member;
    member.rank_index = rank;
    member.start_ns = end_ns - 10;
    member.end_ns = end_ns;
    instance.members.push_back(member);
  }
  return instance;
}

// Against a naive list: instance by instance, which rank lacks it.
TEST(LostRows, AreThoseThatOthersHaveAndARankLacks) {
  std::mt19937 random(17);
  for (int trial = 0; trial < 50; ++trial) {
    MatchResult match;
    match.communicators.resize(1);
    match.arrivals.resize(4);
    std::vector<std::set<int64_t>> lost(4);
    match.instances.push_back(EndingAt(100, {0, 1, 2, 3}, 0, 4));
    for (int64_t end = 200; end < 3'000; end += 100) {
      std::vector<int32_t> there;
      for (int32_t rank = 0; rank < 4; ++rank) {
        if (there.size() + 4 - static_cast<size_t>(rank) > 2 && random() % 5 == 0) {
          lost[static_cast<size_t>(rank)].insert(end);
        } else {
          there.push_back(rank);
        }
      }
      match.instances.push_back(EndingAt(end, there, 0, 4));
    }
    const LostRows rows(match);
    for (int32_t rank = 0; rank < 4; ++rank) {
      for (int64_t from = 50; from < 3'000; from += 100) {
        const std::set<int64_t>& of = lost[static_cast<size_t>(rank)];
        EXPECT_EQ(rows.EndsWithin(rank, from, from + 100), of.count(from + 50) > 0)
            << trial << " " << rank << " " << from;
      }
    }
  }
}

TEST(LostRows, OfTwoRanksTheRowThatOneHasAloneIsLostByTheOther) {
  MatchResult match;
  match.communicators.resize(1);
  match.arrivals.resize(2);
  match.instances = {EndingAt(100, {0, 1}, 0, 2), EndingAt(200, {0}, 0, 2)};
  const LostRows rows(match);
  EXPECT_TRUE(rows.EndsWithin(1, 150, 250));
  EXPECT_FALSE(rows.EndsWithin(0, 150, 250));
}

TEST(LostRows, ARankWithoutRowsOfTheCommunicatorLosesNone) {
  MatchResult match;
  match.communicators.resize(2);
  match.arrivals.resize(3);
  match.instances = {EndingAt(100, {0, 1}, 0, 2), EndingAt(100, {1, 2}, 1, 2)};
  const LostRows rows(match);
  for (int32_t rank = 0; rank < 3; ++rank) EXPECT_FALSE(rows.EndsWithin(rank, 0, 1'000));
}

}  // namespace
}  // namespace lockstep
