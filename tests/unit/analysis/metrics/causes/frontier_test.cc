#include "analysis/metrics/causes/frontier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analysis/metrics/causes/blame.h"
#include "analysis/model/row_values.h"
#include "tests/unit/analysis/metrics/timeline_run.h"

namespace lockstep {
namespace {

constexpr int kFrontierSteps = 30;

using Extra = std::function<int64_t(int32_t rank, int step)>;

// Two pairs that meet in twos and across; `extra` is what a rank works longer before its pair meets.
GraphedRun Pairs(const Extra& extra, unsigned noise_seed) {
  TimelineRun run(4, {{0, 1}, {2, 3}, {0, 2}, {1, 3}});
  std::mt19937 random(noise_seed);
  std::uniform_int_distribution<int64_t> noise(0, 4'000);
  for (int step = 0; step < kFrontierSteps; ++step) {
    run.SetStep(step);
    for (int32_t rank = 0; rank < 4; ++rank) run.Work(rank, 1'000'000 + noise(random) + extra(rank, step));
    for (int32_t pair = 0; pair < 4; ++pair) run.Meet(pair, 20'000);
  }
  return MakeGraph(run);
}

std::vector<FrontierLeads> LeadsOf(const GraphedRun& run) {
  return MeasureFrontier(run.graph, run.matched.match, [](const MatchedInstance& instance) { return instance.step; });
}

Extra Slow(int32_t slow, int64_t ns) {
  return [=](int32_t rank, int) { return rank == slow ? ns : 0; };
}

// Ranks by their lead over all communicators, the foremost first.
std::vector<FrontierSuspect> Ranking(const GraphedRun& run) {
  std::map<int32_t, int64_t> lead;
  for (const FrontierLeads& of_communicator : LeadsOf(run)) {
    for (const FrontierSuspect& m : of_communicator.members) lead[m.rank_index] += m.lead_ns;
  }
  std::vector<FrontierSuspect> out;
  for (const auto& [rank, lead_ns] : lead) out.push_back({rank, lead_ns});
  std::stable_sort(out.begin(), out.end(),
                   [](const FrontierSuspect& a, const FrontierSuspect& b) { return a.lead_ns > b.lead_ns; });
  return out;
}

TEST(Frontier, TheRankThatHoldsOthersUpLeadsAsInTheBlame) {
  const GraphedRun run = Pairs(Slow(1, 60'000), 1);
  const std::vector<FrontierSuspect> suspects = Ranking(run);
  ASSERT_FALSE(suspects.empty());
  EXPECT_EQ(suspects.front().rank_index, 1);
  EXPECT_EQ(suspects.front().rank_index, BlameByRank(PropagateBlame(run.graph, run.matched.match)).front().rank_index);
}

TEST(Frontier, ClocksChangeNothing) {
  const GraphedRun run = Pairs(Slow(2, 30'000), 2);
  GraphedRun shifted = Pairs(Slow(2, 30'000), 2);
  for (size_t rank = 0; rank < shifted.graph.ranks.size(); ++rank) {
    const int64_t offset = 7'000'000 * static_cast<int64_t>(rank);
    for (ArrivalNode& node : shifted.graph.ranks[rank]) {
      node.start_ns += offset;
      node.end_ns += offset;
      if (node.segment.begin_ns != kNoTime) node.segment.begin_ns += offset;
    }
  }
  const auto plain = Ranking(run);
  const auto other = Ranking(shifted);
  ASSERT_EQ(plain.size(), other.size());
  ASSERT_FALSE(plain.empty());
  for (size_t i = 0; i < plain.size(); ++i) {
    EXPECT_EQ(plain[i].rank_index, other[i].rank_index);
    EXPECT_EQ(plain[i].lead_ns, other[i].lead_ns);
  }
}

TEST(Frontier, EverySectionOfACommunicatorCounts) {
  const std::vector<FrontierLeads> leads = LeadsOf(Pairs(Slow(1, 0), 3));
  ASSERT_EQ(leads.size(), 4u);
  for (const FrontierLeads& of_communicator : leads) {
    EXPECT_EQ(of_communicator.members.size(), 2u);
    EXPECT_GE(of_communicator.sections, kFrontierSteps - 1);
  }
}

TEST(AskFrontier, AgreesOnTheRankThatHoldsTheOthersUp) {
  EXPECT_EQ(AskFrontier(LeadsOf(Pairs(Slow(1, 60'000), 4)), {1}, {1}), FrontierAnswer::kAgrees);
}

TEST(AskFrontier, DisagreesOnAnotherOfItsCommunicator) {
  EXPECT_EQ(AskFrontier(LeadsOf(Pairs(Slow(1, 60'000), 5)), {0}, {0}), FrontierAnswer::kDisagrees);
}

TEST(AskFrontier, CannotTellOfOneWhoIsBehindAnotherThatIsNamedToo) {
  EXPECT_EQ(AskFrontier(LeadsOf(Pairs(Slow(1, 60'000), 6)), {0}, {0, 1}), FrontierAnswer::kCannotTell);
}

TEST(AskFrontier, CannotTellWhereNobodyLeadsMoreThanByChance) {
  const std::vector<FrontierLeads> even = {{{{0, 500}, {1, 450}, {2, 550}, {3, 500}}, 40}};
  for (int32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(AskFrontier(even, {rank}, {}), FrontierAnswer::kCannotTell);
}

TEST(AskFrontier, AFewSectionsProveNothing) {
  const std::vector<FrontierLeads> few = {{{{0, 900}, {1, 100}}, 2}};
  EXPECT_EQ(AskFrontier(few, {0}, {}), FrontierAnswer::kCannotTell);
  EXPECT_EQ(AskFrontier(few, {1}, {}), FrontierAnswer::kCannotTell);
}

// Nobody outside the scope is in its communicators: they say nothing of it.
TEST(AskFrontier, CannotTellOfAWholeCommunicator) {
  const std::vector<FrontierLeads> inside = {{{{0, 900}, {1, 100}}, 40}};
  EXPECT_EQ(AskFrontier(inside, {0, 1}, {}), FrontierAnswer::kCannotTell);
  EXPECT_EQ(AskFrontier(inside, {7}, {}), FrontierAnswer::kCannotTell);
}

}  // namespace
}  // namespace lockstep
