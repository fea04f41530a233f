// The words of single instances: what they say, and how often the truth lies inside the uncertainty that they state.
#include "analysis/metrics/match/instance_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/support/time_units.h"

namespace lockstep {
namespace {

JoinedInstance Instance(const std::vector<int64_t>& starts, int64_t end_ns) {
  JoinedInstance joined;
  joined.instance.op = CollectiveOp::kAllReduce;
  joined.instance.confidence = 1;
  for (size_t i = 0; i < starts.size(); ++i) {
    MatchedMember member;
    member.rank_index = static_cast<int32_t>(i);
    member.start_ns = starts[i];
    member.end_ns = end_ns;
    joined.instance.members.push_back(member);
  }
  return joined;
}

void FillAll(JoinedInstance& joined, bool all_pairs, int32_t size, const ClockModel& clock) {
  FillMembership(joined, size, false, clock);
  FillWords(joined, all_pairs, clock);
}

MatchedInstance Words(const ClockModel& clock, const std::vector<int64_t>& starts, bool all_pairs = true) {
  const int64_t end = *std::max_element(starts.begin(), starts.end()) + 50 * kUs;
  JoinedInstance joined = Instance(starts, end);
  FillAll(joined, all_pairs, static_cast<int32_t>(starts.size()), clock);
  return joined.instance;
}

// All ranks of one domain, every pair known to the same U.
ClockModel OneDomain(int32_t ranks, int64_t uncertainty_ns) {
  ClockModel clock;
  for (int32_t r = 0; r < ranks; ++r) clock.SetDomain(r, DomainId{0});
  for (int32_t a = 0; a < ranks; ++a) {
    for (int32_t b = a + 1; b < ranks; ++b) clock.SetPair(a, b, uncertainty_ns, 100);
  }
  return clock;
}

// Two ranks on hosts of one component.
ClockModel TwoHosts(std::vector<OffsetUncertainty> pieces) {
  ClockModel clock;
  clock.SetDomain(0, DomainId{0});
  clock.SetDomain(1, DomainId{1});
  for (const int32_t d : {0, 1}) clock.SetDomainClock(DomainId{d}, {.component = 0});
  clock.SetDomainPair(DomainId{0}, DomainId{1}, std::move(pieces));
  return clock;
}

TEST(InstanceWords, TheUncertaintyIsThatOfThePairAtTheTimeOfTheInstance) {
  const ClockModel clock =
      TwoHosts({{.t_ns = INT64_MIN, .half_width_ns = 4 * kUs}, {.t_ns = 1'000 * kUs, .half_width_ns = 9 * kUs}});
  EXPECT_EQ(Words(clock, {100 * kUs, 160 * kUs}).uncertainty_ns, 4 * kUs);
  EXPECT_EQ(Words(clock, {2'100 * kUs, 2'160 * kUs}).uncertainty_ns, 9 * kUs);
}

TEST(InstanceWords, ASpreadBelowTheUncertaintyIsNotResolvable) {
  const ClockModel clock = TwoHosts({{.half_width_ns = 20 * kUs}});
  EXPECT_FALSE(Words(clock, {0, 15 * kUs}).resolvable);
  EXPECT_FALSE(Words(clock, {0, 15 * kUs}).last_certain);
  EXPECT_TRUE(Words(clock, {0, 25 * kUs}).resolvable);
  EXPECT_TRUE(Words(clock, {0, 25 * kUs}).last_certain);
}

TEST(InstanceWords, TheLastIsCertainOnlyIfItIsSoAgainstEveryOther) {
  const ClockModel clock = OneDomain(3, 2 * kUs);
  EXPECT_TRUE(Words(clock, {0, 10 * kUs, 13 * kUs}).last_certain);
  EXPECT_FALSE(Words(clock, {0, 12 * kUs, 13 * kUs}).last_certain);
}

TEST(InstanceWords, LastCertainEqualsThePairwiseDefinition) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    ClockModel clock;
    const int32_t ranks = 2 + static_cast<int32_t>(random() % 11);
    for (int32_t r = 0; r < ranks; ++r) clock.SetDomain(r, DomainId{r / 3});
    for (int32_t d = 0; d < clock.domains(); ++d) {
      clock.SetDomainClock(DomainId{d}, {.component = 0});
      for (int32_t e = d + 1; e < clock.domains(); ++e) {
        clock.SetDomainPair(DomainId{d}, DomainId{e}, {{.half_width_ns = static_cast<int64_t>(random() % 9'000)}});
      }
    }
    for (int32_t a = 0; a < ranks; ++a) {
      for (int32_t b = a + 1; b < ranks; ++b) clock.SetPair(a, b, static_cast<int64_t>(random() % 4'000), 50);
    }
    std::vector<int64_t> starts;
    for (int32_t r = 0; r < ranks; ++r) starts.push_back(static_cast<int64_t>(random() % 20'000));
    const MatchedInstance instance = Words(clock, starts);
    bool certain = true;
    for (const MatchedMember& m : instance.members) {
      if (m.rank_index == instance.last_rank_index) continue;
      const int64_t last = starts[static_cast<size_t>(instance.last_rank_index)];
      const auto u = clock.PairUncertainty(instance.last_rank_index, m.rank_index, AlignedTime{last});
      certain = certain && last - m.start_ns > u->ns;
    }
    ASSERT_EQ(instance.last_certain, certain) << trial;
  }
}

TEST(InstanceWords, AWaitIsAsUncertainAsThePairThatItComparesUnlessOthersContend) {
  const ClockModel clock = OneDomain(3, 2 * kUs);
  const MatchedInstance alone = Words(clock, {0, 10 * kUs, 50 * kUs});
  EXPECT_EQ(alone.members[0].wait_uncertainty_ns, 2 * kUs);
  EXPECT_EQ(alone.members[2].wait_uncertainty_ns, 0);
  const MatchedInstance contended = Words(clock, {0, 49 * kUs, 50 * kUs});
  EXPECT_GT(contended.members[0].wait_uncertainty_ns, 2 * kUs);
  EXPECT_GT(contended.members[2].wait_uncertainty_ns, 0);
}

TEST(InstanceWords, WhoWaitsForNobodyHasNoUncertainWait) {
  const ClockModel clock = OneDomain(2, 2 * kUs);
  JoinedInstance joined = Instance({0, 30 * kUs}, 60 * kUs);
  joined.sender = 1;
  joined.receiver = 0;
  FillAll(joined, false, 2, clock);
  EXPECT_EQ(joined.instance.members[0].wait_ns, 30 * kUs);
  EXPECT_EQ(joined.instance.members[0].wait_uncertainty_ns, 2 * kUs);
  EXPECT_EQ(joined.instance.members[1].wait_uncertainty_ns, 0);
}

TEST(InstanceWords, ClocksWithoutAConnectionAreNotCompared) {
  ClockModel clock;
  clock.SetDomain(0, DomainId{0});
  clock.SetDomain(1, DomainId{1});
  const MatchedInstance instance = Words(clock, {0, 50 * kUs});
  EXPECT_FALSE(instance.comparable);
  EXPECT_FALSE(instance.usable());
  EXPECT_EQ(instance.uncertainty_ns, -1);
}

TEST(InstanceWords, AMemberThatMayNotHaveWaitedIsUnresolved) {
  const ClockModel clock = OneDomain(2, 5 * kUs);
  JoinedInstance joined = Instance({0, 3 * kUs}, 60 * kUs);
  FillAll(joined, true, 2, clock);
  std::vector<std::vector<ArrivalOfRow>> arrivals(2, std::vector<ArrivalOfRow>(1));
  FillArrivals(joined.instance, 4, arrivals);
  EXPECT_FALSE(arrivals[0][0].resolved);
  EXPECT_EQ(arrivals[0][0].instance, 4);
  JoinedInstance clear = Instance({0, 30 * kUs}, 60 * kUs);
  FillAll(clear, true, 2, clock);
  FillArrivals(clear.instance, 0, arrivals);
  EXPECT_TRUE(arrivals[0][0].resolved);
}

MatchedInstance WordsOf(JoinedInstance joined, bool all_pairs, int32_t size, int64_t uncertainty_ns = kUs) {
  FillAll(joined, all_pairs, size, OneDomain(static_cast<int32_t>(joined.instance.members.size()), uncertainty_ns));
  return joined.instance;
}

TEST(InstanceWords, WhileAMemberHasNoRecordNobodyIsCertainlyLastAndNothingBoundsTheWait) {
  const MatchedInstance whole = WordsOf(Instance({0, 40 * kUs}, 90 * kUs), true, 2);
  EXPECT_TRUE(whole.last_certain);
  EXPECT_EQ(whole.members[0].latest_arrival_ns, 40 * kUs);
  const MatchedInstance lacks = WordsOf(Instance({0, 40 * kUs}, 90 * kUs), true, 3);
  EXPECT_FALSE(lacks.last_certain);
  EXPECT_FALSE(lacks.members[0].awaits_certainly);
  EXPECT_EQ(lacks.members[0].wait_ns, 40 * kUs);  // so long it waited in any case
  EXPECT_EQ(lacks.members[0].latest_arrival_ns, kNeverArrived);
  EXPECT_EQ(lacks.transfer_ns, -1);
}

JoinedInstance Broadcast(const std::vector<int64_t>& starts, int64_t end_ns, int32_t root) {
  JoinedInstance joined = Instance(starts, end_ns);
  joined.instance.op = CollectiveOp::kBroadcast;
  joined.root = root;
  return joined;
}

TEST(InstanceWords, ReceiversOfABroadcastWaitForItsRootAndForNobodyElse) {
  const MatchedInstance instance = WordsOf(Broadcast({30 * kUs, 0, 50 * kUs}, 90 * kUs, 0), false, 3);
  EXPECT_EQ(instance.members[0].wait_ns, 0);
  EXPECT_EQ(instance.members[1].wait_ns, 30 * kUs);
  EXPECT_EQ(instance.members[1].awaits, 0);
  EXPECT_TRUE(instance.members[1].awaits_certainly);
  EXPECT_EQ(instance.members[2].wait_ns, 0);
  for (const MatchedMember& m : instance.members) EXPECT_EQ(m.latest_arrival_ns, m.arrival_ns);
}

TEST(InstanceWords, OfABroadcastWithoutAKnownRootOnlyTheLatestArrivalIsKnown) {
  const MatchedInstance instance = WordsOf(Broadcast({30 * kUs, 0, 50 * kUs}, 90 * kUs, kNoRoot), false, 3);
  for (const MatchedMember& m : instance.members) {
    EXPECT_EQ(m.wait_ns, 0);
    EXPECT_EQ(m.latest_arrival_ns, 50 * kUs);
  }
}

TEST(InstanceWords, WhoWaitsForARootWithoutATraceMayWaitAllTheTime) {
  const MatchedInstance instance = WordsOf(Broadcast({30 * kUs, 0}, 90 * kUs, kRootWithoutTrace), false, 3);
  EXPECT_EQ(instance.members[0].latest_arrival_ns, kNeverArrived);
  EXPECT_EQ(instance.members[1].latest_arrival_ns, kNeverArrived);
}

TEST(InstanceWords, OnlyTheRootOfAReduceWaitsForTheOthers) {
  JoinedInstance joined = Broadcast({0, 0, 50 * kUs}, 90 * kUs, 0);
  joined.instance.op = CollectiveOp::kReduce;
  const MatchedInstance instance = WordsOf(joined, false, 3);
  EXPECT_EQ(instance.members[0].wait_ns, 50 * kUs);
  EXPECT_EQ(instance.members[0].awaits, 2);
  EXPECT_EQ(instance.members[1].wait_ns, 0);
}

struct Coverage {
  double spread = 0;
  double waits = 0;
};

// Arrivals of so many ranks spread over `scale_ns`, seen through independent normal errors of 1 us.
Coverage Measure(int32_t ranks, int64_t scale_ns, unsigned seed) {
  constexpr double kSigma = 1'000;
  constexpr int kTrials = 2'000;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> error(0, kSigma);
  std::uniform_int_distribution<int64_t> arrival(0, scale_ns);
  const ClockModel clock = OneDomain(ranks, std::llround(1.96 * std::sqrt(2.0) * kSigma));
  int64_t covered = 0;
  int64_t covered_waits = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<int64_t> truth;
    std::vector<int64_t> seen;
    for (int32_t r = 0; r < ranks; ++r) {
      truth.push_back(arrival(random));
      seen.push_back(truth.back() + std::llround(error(random)));
    }
    const auto [first, last] = std::minmax_element(truth.begin(), truth.end());
    const MatchedInstance instance = Words(clock, seen);
    covered += std::abs(instance.spread_ns - (*last - *first)) <= instance.uncertainty_ns ? 1 : 0;
    for (const MatchedMember& m : instance.members) {
      const int64_t wait = *last - truth[static_cast<size_t>(m.rank_index)];
      covered_waits += std::abs(m.wait_ns - wait) <= m.wait_uncertainty_ns ? 1 : 0;
    }
  }
  return {static_cast<double>(covered) / kTrials, static_cast<double>(covered_waits) / (kTrials * ranks)};
}

TEST(InstanceWords, TheStatedUncertaintyCoversTheTruthHoweverCloseTheArrivals) {
  unsigned seed = 0;
  for (const int32_t ranks : {2, 3, 8, 64}) {
    for (const int64_t scale : {int64_t{0}, 1 * kUs, 3 * kUs, 10 * kUs, 100 * kUs}) {
      const Coverage coverage = Measure(ranks, scale, ++seed);
      EXPECT_GE(coverage.spread, 0.94) << ranks << " ranks over " << scale << " ns";
      EXPECT_GE(coverage.waits, 0.94) << ranks << " ranks over " << scale << " ns";
    }
  }
}

}  // namespace
}  // namespace lockstep
