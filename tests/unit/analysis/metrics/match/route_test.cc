// Sends and receives: what two ranks exchange.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "analysis/metrics/match/match.h"
#include "analysis/model/instance_row.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

using testing::SizeIs;

TEST(Routes, SendsAndReceivesAreJoinedPerRoute) {
  RunBuilder builder;
  std::vector<SourceBuilder*> sources;
  for (int32_t r = 0; r < 3; ++r) {
    sources.push_back(&builder.AddRank(r).World(3));
    sources.back()->Group("pp", {0, 1, 2});
  }
  // Rank 1 receives from 0 and sends to 2, irregularly enough to tell the order.
  int64_t t = 0;
  for (int64_t i = 0; i < 12; ++i) {
    t += (100 + i * i % 7 * 40) * kUs;
    sources[0]->Collective(0, CollectiveOp::kSend, t, 30 * kUs).peer = 1;
    sources[1]->Collective(0, CollectiveOp::kRecv, t - 40 * kUs, 71 * kUs).peer = 0;
    sources[1]->Collective(0, CollectiveOp::kSend, t + 40 * kUs, 20 * kUs).peer = 2;
    sources[2]->Collective(0, CollectiveOp::kRecv, t + 10 * kUs, 51 * kUs).peer = 1;
  }
  const MatchedRun run = Match(builder);
  ASSERT_THAT(run.match.instances, SizeIs(24));
  for (const MatchedInstance& instance : run.match.instances) {
    ASSERT_THAT(instance.members, SizeIs(2));
    EXPECT_EQ(instance.op, CollectiveOp::kSendRecv);
    EXPECT_TRUE(instance.complete && instance.usable());
    EXPECT_EQ(instance.transfer_ns, -1) << "a send binds one direction only";
    EXPECT_EQ(instance.members[0].wait_ns, 0) << "the sender waits for nobody";
    const int64_t late = instance.members[0].start_ns - instance.members[1].start_ns;
    EXPECT_EQ(instance.members[1].wait_ns, late);
  }
}

// Two hosts whose clocks differ by 3 ms; 96 transfers 60 to 400 ms apart whose recorded ends scatter by 150 us. The
// sender lacks `lost_send`, the receiver `lost_receive` (-1: none).
MatchedRun ScatteredTransfers(int64_t lost_send, int64_t lost_receive) {
  RunBuilder builder;
  SourceBuilder& sender = builder.AddRank(0).World(2).Host("a");
  SourceBuilder& receiver = builder.AddRank(1).World(2).Host("b");
  sender.Group("pp", {0, 1});
  receiver.Group("pp", {0, 1});
  std::mt19937_64 random(7);
  std::uniform_int_distribution<int64_t> distance(60'000, 400'000);
  std::uniform_int_distribution<int64_t> scatter(-150, 150);
  int64_t t = 0;
  for (int64_t i = 0; i < 96; ++i) {
    t += distance(random) * kUs;
    if (i != lost_send) sender.Collective(0, CollectiveOp::kSend, t, (900 + scatter(random)) * kUs).peer = 1;
    const int64_t start = t - 30'000 * kUs + 3'000 * kUs;
    if (i != lost_receive) {
      receiver.Collective(0, CollectiveOp::kRecv, start, (30'950 + scatter(random)) * kUs).peer = 0;
    }
  }
  return Match(builder);
}

size_t UsablePairs(const MatchedRun& run) {
  return static_cast<size_t>(std::count_if(run.match.instances.begin(), run.match.instances.end(),
                                           [](const auto& it) { return it.members.size() == 2 && it.usable(); }));
}

TEST(Routes, TransfersFarApartAreJoinedInOrderThoughTheirEndsScatter) {
  EXPECT_EQ(UsablePairs(ScatteredTransfers(-1, -1)), 96u);
}

TEST(Routes, EquallyManyButNotTheSameTransfersLostAreNotJoinedInOrder) {
  const MatchedRun run = ScatteredTransfers(20, 70);
  for (const MatchedInstance& instance : run.match.instances) {
    if (instance.members.size() != 2 || !instance.usable()) continue;
    const int64_t send = instance.members[0].row;
    const int64_t receive = instance.members[1].row;
    EXPECT_EQ(receive - send, send >= 20 && send < 69 ? 1 : 0) << "send " << send;
  }
}

// Ranks 0 and 3 tell their peers, 1 and 2 between them nothing; both routes count from one.
TEST(Routes, RoutesOfAGroupThatCountAlikeAreNotTakenForOne) {
  RunBuilder builder;
  std::vector<SourceBuilder*> sources;
  for (int32_t r = 0; r < 4; ++r) {
    sources.push_back(&builder.AddRank(r).World(4));
    sources.back()->Group("pp", {0, 1, 2, 3});
  }
  const auto numbered = [](InstanceRow& row, int64_t i, int32_t peer) {
    row.peer = peer;
    row.has_comms_id = true;
    row.comms_id = static_cast<uint64_t>(i + 1);
  };
  int64_t t = 0;
  for (int64_t i = 0; i < 24; ++i) {
    t += (300 + i * i % 11 * 90) * kUs;
    numbered(sources[0]->Collective(0, CollectiveOp::kSend, t, 30 * kUs), i, 1);
    sources[1]->Collective(0, CollectiveOp::kSendRecv, t - 40 * kUs, 70 * kUs);
    sources[2]->Collective(0, CollectiveOp::kSendRecv, t + (100 + i % 5 * 8) * kUs, 30 * kUs);
    numbered(sources[3]->Collective(0, CollectiveOp::kRecv, t + (90 + i % 5 * 8) * kUs, 40 * kUs), i, 2);
  }
  const MatchedRun run = Match(builder);
  for (const MatchedInstance& instance : run.match.instances) {
    std::set<int32_t> ranks;
    for (const MatchedMember& m : instance.members) ranks.insert(m.rank_index);
    EXPECT_FALSE(ranks.contains(0) && ranks.contains(3)) << "instance " << instance.index;
  }
}

// On one clock; the sender has lost the fourth transfer and the receiver the eighteenth. Ids: each rank's own count, if
// at all, by which just these two rows are alike.
MatchedRun UnevenlyLostTransfers(bool ids) {
  RunBuilder builder;
  SourceBuilder& sender = builder.AddRank(0).World(3);
  SourceBuilder& receiver = builder.AddRank(1).World(3);
  sender.Group("pp", {0, 1, 2});
  receiver.Group("pp", {0, 1, 2});
  const auto told = [ids](InstanceRow& row, uint64_t id, int32_t peer) {
    row.peer = peer;
    row.has_comms_id = ids;
    row.comms_id = ids ? id : 0;
  };
  int64_t t = 0;
  for (uint64_t i = 0; i < 24; ++i) {
    t += static_cast<int64_t>(300 + i * i % 11 * 90) * kUs;
    if (i != 3) told(sender.Collective(0, CollectiveOp::kSend, t, 30 * kUs), i == 17 ? 300 : 100 + i, 1);
    if (i != 17) told(receiver.Collective(0, CollectiveOp::kRecv, t - 40 * kUs, 71 * kUs), i == 3 ? 300 : 200 + i, 0);
  }
  // What tells no peers makes rows without a partner on their route look elsewhere.
  receiver.Collective(0, CollectiveOp::kSendRecv, 90'000 * kUs, 30 * kUs);
  sender.Collective(0, CollectiveOp::kSendRecv, 91'000 * kUs, 30 * kUs);
  return Match(builder);
}

void ExpectTheSameTransfers(const MatchedRun& run) {
  EXPECT_GE(UsablePairs(run), 20u);
  for (const MatchedInstance& instance : run.match.instances) {
    EXPECT_TRUE(!instance.matched() || instance.end_spread_ns < 10 * kUs) << "instance " << instance.index;
  }
}

TEST(Routes, OrderOnOneClockGivesWayToTheEndsWhereBothSidesHaveLostTransfers) {
  ExpectTheSameTransfers(UnevenlyLostTransfers(false));
}

TEST(Routes, WhatRoutesLeaveOverIsNotJoinedByIdsThatEachRankCountsForItself) {
  ExpectTheSameTransfers(UnevenlyLostTransfers(true));
}

}  // namespace
}  // namespace lockstep
