#include "analysis/metrics/match/caused_wait.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace lockstep {
namespace {

// Of members that all wait for the last one, who waits for nobody.
MatchedInstance Waited(CollectiveOp op, size_t members, bool in_sequence) {
  MatchedInstance instance;
  instance.op = op;
  instance.all_pairs = true;
  instance.in_sequence = in_sequence;
  instance.last_rank_index = static_cast<int32_t>(members) - 1;
  for (size_t m = 0; m < members; ++m) {
    MatchedMember member;
    member.rank_index = static_cast<int32_t>(m);
    member.wait_ns = m + 1 < members ? 100 * static_cast<int64_t>(m + 1) : 0;
    instance.members.push_back(member);
  }
  return instance;
}

std::vector<CausedWait> CausedBy(const MatchedInstance& instance) {
  std::vector<CausedWait> out;
  ForEachCausedWait(instance, [&](const CausedWait& it) { out.push_back(it); });
  return out;
}

TEST(CausedWait, TheWaitsSumToThatOfAllMembers) {
  for (const bool all_pairs : {true, false}) {
    MatchedInstance instance = Waited(CollectiveOp::kAllReduce, 4, true);
    instance.all_pairs = all_pairs;
    int64_t sum = 0;
    for (const CausedWait& it : CausedBy(instance)) sum += it.wait_ns;
    EXPECT_EQ(sum, TotalWaitNs(instance)) << all_pairs;
    EXPECT_EQ(sum, 600) << all_pairs;
  }
}

// Names alone do not tell a send and a receive of two stages from an exchange of two ranks.
TEST(CausedWait, AnExchangeOfTwoIsBetweenSenderAndReceiverEvenWhereItIsAllThatTheGroupDoes) {
  EXPECT_TRUE(CausedBy(Waited(CollectiveOp::kSendRecv, 2, true)).at(0).in_pair);
  EXPECT_TRUE(CausedBy(Waited(CollectiveOp::kSendRecv, 2, false)).at(0).in_pair);
}

TEST(CausedWait, WhatAllMembersDoTogetherIsBetweenNoPair) {
  EXPECT_FALSE(CausedBy(Waited(CollectiveOp::kAllReduce, 2, true)).at(0).in_pair);
  EXPECT_FALSE(CausedBy(Waited(CollectiveOp::kSendRecv, 3, true)).at(0).in_pair);
}

}  // namespace
}  // namespace lockstep
