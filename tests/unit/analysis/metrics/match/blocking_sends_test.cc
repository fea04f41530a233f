#include "analysis/metrics/match/blocking_sends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analysis/metrics/match/instance_words.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/match/one_clock.h"

namespace lockstep {
namespace {

constexpr int64_t kSendNs = 40 * kUs;

// Rank 0 sends at 0, and rank 1 comes `receiver_later_ns` after it.
JoinedInstance SendOf(int64_t receiver_later_ns, bool blocks, std::mt19937& random) {
  const auto takes = [&] { return kSendNs + static_cast<int64_t>(random() % 2'000); };
  JoinedInstance joined;
  joined.sender = 0;
  joined.receiver = 1;
  joined.instance.op = CollectiveOp::kSendRecv;
  joined.instance.confidence = 1;
  MatchedMember sender;
  sender.rank_index = 0;
  sender.end_ns = (blocks ? std::max<int64_t>(0, receiver_later_ns) : 0) + takes();
  MatchedMember receiver;
  receiver.rank_index = 1;
  receiver.start_ns = receiver_later_ns;
  receiver.end_ns = std::max<int64_t>(0, receiver_later_ns) + takes();
  joined.instance.members = {sender, receiver};
  return joined;
}

std::vector<JoinedInstance> WordsOf(std::vector<JoinedInstance> joined) {
  const ClockModel clock = OneClock(2);
  for (JoinedInstance& j : joined) FillMembership(j, 2, false, clock);
  FindBlockingSends(clock, joined);
  for (JoinedInstance& j : joined) FillWords(j, false, clock);
  return joined;
}

int64_t WaitOfSender(const JoinedInstance& joined) { return joined.instance.members.front().wait_ns; }

TEST(BlockingSends, ASenderWhoseSendsEndOnlyAfterTheReceiverHasComeWaitsForIt) {
  std::mt19937 random(5);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 20; ++i) joined.push_back(SendOf(static_cast<int64_t>(random() % 500'000), true, random));
  for (const JoinedInstance& j : WordsOf(joined)) {
    const int64_t truth = j.instance.members.back().start_ns;
    if (truth > 2 * kUs) {
      EXPECT_NEAR(static_cast<double>(WaitOfSender(j)), static_cast<double>(truth), 1'000);
    }
  }
}

TEST(BlockingSends, ASendThatIsDoneBeforeItsReceiverComesDoesNotBlockNorDoOthersOfItsSize) {
  std::mt19937 random(6);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 20; ++i) joined.push_back(SendOf(static_cast<int64_t>(random() % 500'000), false, random));
  for (const JoinedInstance& j : WordsOf(joined)) EXPECT_EQ(WaitOfSender(j), 0);
  joined.clear();
  for (int i = 0; i < 20; ++i) joined.push_back(SendOf(300 * kUs, i > 0, random));
  for (const JoinedInstance& j : WordsOf(joined)) EXPECT_EQ(WaitOfSender(j), 0);
  joined.front().instance.bytes = 1'024;  // another size says nothing of these
  EXPECT_GT(WaitOfSender(WordsOf(joined).back()), 299 * kUs);
}

TEST(BlockingSends, TwoThatBlockAreTooFewAndThreeAreEnough) {
  std::mt19937 random(7);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 12; ++i) joined.push_back(SendOf(i < 2 ? 300 * kUs : -10 * kUs, true, random));
  EXPECT_EQ(WaitOfSender(WordsOf(joined).front()), 0);
  joined.push_back(SendOf(300 * kUs, true, random));
  EXPECT_GT(WaitOfSender(WordsOf(joined).front()), 299 * kUs);
}

TEST(BlockingSends, AReceiverThatComesWhileTheTransferWouldStillGoOnShowsNothing) {
  std::mt19937 random(8);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 20; ++i) joined.push_back(SendOf(kSendNs / 2, false, random));
  for (const JoinedInstance& j : WordsOf(joined)) EXPECT_EQ(WaitOfSender(j), 0);
}

// As the first one, which sets up the connection.
TEST(BlockingSends, OneTransferThatTookLongHidesNothing) {
  std::mt19937 random(9);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 20; ++i) joined.push_back(SendOf(300 * kUs, true, random));
  for (MatchedMember& member : joined.front().instance.members) member.end_ns += 2'000 * kUs;
  EXPECT_GT(WaitOfSender(WordsOf(joined).back()), 299 * kUs);
}

// Less late than a transfer takes: a sender may have waited for it, or not.
TEST(BlockingSends, WhatNothingShowsIsUnresolvedUntilTheReceiverComes) {
  std::mt19937 random(10);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 20; ++i) joined.push_back(SendOf(kSendNs / 2, true, random));
  for (const JoinedInstance& j : WordsOf(joined)) {
    EXPECT_EQ(WaitOfSender(j), 0);
    EXPECT_EQ(j.instance.members.front().latest_arrival_ns, kSendNs / 2);
    EXPECT_LT(j.instance.members.front().awaits, 0);
  }
}

}  // namespace
}  // namespace lockstep
