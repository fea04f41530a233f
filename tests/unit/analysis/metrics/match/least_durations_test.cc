// What bounds the wait for a member without a record.
#include "analysis/metrics/match/least_durations.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "analysis/metrics/match/instance_words.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/match/one_clock.h"

namespace lockstep {
namespace {

constexpr int32_t kReduced = 4;
constexpr int64_t kReduceTakesNs = 100 * kUs;

// An all-reduce in which one member may lack its record.
JoinedInstance AllReduce(int64_t bytes, std::mt19937& random, bool lacks) {
  JoinedInstance joined;
  joined.instance.op = CollectiveOp::kAllReduce;
  joined.instance.bytes = bytes;
  joined.instance.confidence = 1;
  std::vector<int64_t> starts;
  int64_t last = 0;
  for (int32_t r = 0; r < kReduced; ++r) {
    starts.push_back(static_cast<int64_t>(random() % 400'000));
    last = std::max(last, starts.back());
  }
  const int64_t end = last + kReduceTakesNs + static_cast<int64_t>(random() % 10'000);
  const size_t lost = lacks ? random() % size_t{kReduced} : size_t{kReduced};
  for (size_t r = 0; r < size_t{kReduced}; ++r) {
    if (r == lost) continue;
    MatchedMember member;
    member.rank_index = static_cast<int32_t>(r);
    member.start_ns = starts[r];
    member.end_ns = end;
    joined.instance.members.push_back(member);
  }
  joined.takes_at_least_ns = last;  // kept here until it is known: when the last one came, the lost one included
  return joined;
}

std::vector<JoinedInstance> AsTold(std::vector<JoinedInstance> joined) {
  const ClockModel clock = OneClock(kReduced);
  for (JoinedInstance& j : joined) FillMembership(j, kReduced, false, clock);
  FindLeastDurations(joined);
  for (JoinedInstance& j : joined) FillWords(j, true, clock);
  return joined;
}

TEST(LeastDurations, BoundTheWaitForAMemberWithoutARecord) {
  std::mt19937 random(5);
  std::vector<JoinedInstance> joined;
  std::vector<int64_t> last;
  for (int i = 0; i < 60; ++i) {
    joined.push_back(AllReduce(1'024, random, i % 3 == 0));
    last.push_back(joined.back().takes_at_least_ns);
  }
  const std::vector<JoinedInstance> told = AsTold(joined);
  for (size_t i = 0; i < told.size(); ++i) {
    for (const MatchedMember& m : told[i].instance.members) {
      EXPECT_GE(m.latest_arrival_ns, last[i]) << i;                 // never earlier than the truth,
      EXPECT_LE(m.latest_arrival_ns, last[i] + 10 * kUs + 1) << i;  // nor later than the transfers scatter
    }
  }
}

TEST(LeastDurations, FewCompleteInstancesOrOthersOfAnotherSizeBoundNothing) {
  std::mt19937 random(6);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 7; ++i) joined.push_back(AllReduce(1'024, random, false));
  for (int i = 0; i < 20; ++i) joined.push_back(AllReduce(2'048, random, false));
  joined.push_back(AllReduce(1'024, random, true));
  const std::vector<JoinedInstance> told = AsTold(joined);
  for (const MatchedMember& m : told.back().instance.members) EXPECT_EQ(m.latest_arrival_ns, kNeverArrived);
}

TEST(LeastDurations, WhereTheMemberAlwaysLacksItsRecordNothingBoundsTheWait) {
  std::mt19937 random(7);
  std::vector<JoinedInstance> joined;
  for (int i = 0; i < 20; ++i) joined.push_back(AllReduce(1'024, random, true));
  for (const JoinedInstance& j : AsTold(joined)) {
    for (const MatchedMember& m : j.instance.members) EXPECT_EQ(m.latest_arrival_ns, kNeverArrived);
  }
}

}  // namespace
}  // namespace lockstep
