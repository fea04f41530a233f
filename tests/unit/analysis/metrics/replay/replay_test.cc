#include "analysis/metrics/replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "analysis/model/instance_row.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/timeline_run.h"

namespace lockstep {
namespace {

constexpr int64_t kReplaySteps = 10;

// What a rank does itself before its n-th meeting in a step.
using WorkOf = std::function<void(TimelineRun&, int32_t rank, int64_t step, int64_t nth)>;

// Four ranks in two tensor groups {0,1}, {2,3} and two data groups {0,2}, {1,3}: per step six tensor meetings, then one
// data meeting.
TimelineRun WorkedGrid(const WorkOf& work, int64_t tensor_transfer_ns = 20 * kUs) {
  TimelineRun run(4, {{0, 1}, {2, 3}, {0, 2}, {1, 3}});
  for (int64_t step = 0; step < kReplaySteps; ++step) {
    run.SetStep(step);
    for (int64_t nth = 0; nth < 7; ++nth) {
      for (int32_t rank = 0; rank < 4; ++rank) work(run, rank, step, nth);
      for (const size_t group : nth < 6 ? std::vector<size_t>{0, 1} : std::vector<size_t>{2, 3}) {
        run.Meet(group, nth < 6 ? tensor_transfer_ns : 100 * kUs);
      }
    }
  }
  return run;
}

// Uneven but repeating, so that neither ranks nor places are alike.
int64_t UsualNs(int32_t rank, int64_t step, int64_t nth) {
  return (500 + 40 * nth + (rank * 7 + step * 3 + nth * 5) % 11) * kUs;
}

WorkOf Usual() {
  return [](TimelineRun& run, int32_t rank, int64_t step, int64_t nth) { run.Work(rank, UsualNs(rank, step, nth)); };
}

WorkOf SlowRank(int32_t slow, int64_t permille) {
  return [=](TimelineRun& run, int32_t rank, int64_t step, int64_t nth) {
    const int64_t usual = UsualNs(rank, step, nth);
    run.Work(rank, rank == slow ? usual * permille / 1'000 : usual);
  };
}

// Mean distance of the ends of the first meetings of the first and the last step.
int64_t StepNs(const GraphedRun& run) {
  int64_t sum = 0;
  for (const auto& rows : run.graph.ranks) sum += rows[rows.size() - 7].end_ns - rows[0].end_ns;
  return sum / static_cast<int64_t>(run.graph.ranks.size()) / (kReplaySteps - 1);
}

std::optional<WhatIf> SavingOn(const Replay& replay, const Idealisation& ideal) {
  ReplayScratch scratch;
  return replay.Saving(ideal, scratch);
}

Replay ReplayOf(const ArrivalGraph& graph, const MatchResult& match, bool reversed = false) {
  InlineExecutor executor(reversed);
  return {graph, match, executor};
}

Replay ReplayOf(const GraphedRun& run, bool reversed = false) {
  return ReplayOf(run.graph, run.matched.match, reversed);
}

struct Replayed {
  explicit Replayed(const TimelineRun& timeline) : run(MakeGraph(timeline)), replay(ReplayOf(run)) {}
  [[nodiscard]] std::optional<WhatIf> Saving(const Idealisation& ideal) const { return SavingOn(replay, ideal); }
  GraphedRun run;
  Replay replay;
};

TEST(Replay, UnchangedReproducesTheRunToTheNanosecond) {
  const Replayed r(WorkedGrid(SlowRank(1, 1'200)));
  EXPECT_TRUE(r.replay.base().faithful);
  EXPECT_GT(r.replay.base().measured_ns, 0);
  EXPECT_EQ(r.replay.base().replayed_ns, r.replay.base().measured_ns);
}

TEST(Replay, TellsTheStepsAndTheirLength) {
  const Replayed r(WorkedGrid(Usual()));
  EXPECT_EQ(r.replay.base().steps, kReplaySteps);
  EXPECT_EQ(r.replay.base().step_ns, StepNs(r.run));
}

TEST(Replay, IdealisingNothingSavesNothing) {
  const Replayed r(WorkedGrid(SlowRank(1, 1'200)));
  const auto saving = r.Saving({});
  ASSERT_TRUE(saving);
  EXPECT_EQ(saving->saving_ns_per_step, 0);
}

TEST(Replay, SavingOfASlowRankIsThatOfARerunWithoutIt) {
  const Replayed slow(WorkedGrid(SlowRank(1, 1'200)));
  const GraphedRun without = MakeGraph(WorkedGrid(Usual()));
  const auto saving = slow.Saving({.rank_indices = {1}});
  ASSERT_TRUE(saving);
  const int64_t truth = StepNs(slow.run) - StepNs(without);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), static_cast<double>(truth),
              0.05 * static_cast<double>(truth));
}

// Replicas that meet once a layer; in each step each has as many tokens as its batch happens to have. Rank 1 takes
// `permille` of what the others do.
TimelineRun OfLengths(int32_t ranks, unsigned seed, int64_t permille) {
  std::vector<int32_t> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  TimelineRun run(ranks, {all});
  std::mt19937 random(seed);
  std::normal_distribution<double> length(1, 0.1);
  for (int64_t step = 0; step < 40; ++step) {
    run.SetStep(step);
    std::vector<double> tokens;
    for (int32_t rank = 0; rank < ranks; ++rank) tokens.push_back(std::clamp(length(random), 0.7, 1.3));
    for (int layer = 0; layer < 5; ++layer) {
      for (int32_t rank = 0; rank < ranks; ++rank) {
        const double slower = rank == 1 ? static_cast<double>(permille) / 1'000 : 1;
        run.Work(rank, std::llround(tokens[static_cast<size_t>(rank)] * slower * 1'000 * kUs));
      }
      run.Meet(0, 20 * kUs);
    }
  }
  return run;
}

// Mending its device gives it no other sequences: in some steps it still is the last.
TEST(Replay, ASlowRankKeepsTheLengthsOfItsOwnBatches) {
  for (const int32_t ranks : {2, 4, 8}) {
    double error = 0;
    double truths = 0;
    int within = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const Replayed slow(OfLengths(ranks, seed, 1'150));
      const Replayed without(OfLengths(ranks, seed, 1'000));
      const auto saving = slow.Saving({.rank_indices = {1}});
      ASSERT_TRUE(saving);
      const auto step = static_cast<double>(slow.replay.base().step_ns);
      const double truth = (step - static_cast<double>(without.replay.base().step_ns)) / step;
      EXPECT_GT(saving->deviation_ratio, 0.002);
      error += saving->saving_ratio - truth;
      truths += truth;
      within += std::abs(saving->saving_ratio - truth) <= 2 * saving->deviation_ratio + 0.1 * truth ? 1 : 0;
    }
    EXPECT_GE(within, 18) << ranks;
    EXPECT_NEAR(error, 0, 0.15 * truths) << ranks;
  }
}

TEST(Replay, WhereAllStepsAreAlikeTheirNoiseAddsNoDoubt) {
  const Replayed slow(WorkedGrid(SlowRank(1, 1'200)));
  const auto saving = slow.Saving({.rank_indices = {1}});
  ASSERT_TRUE(saving);
  EXPECT_LT(saving->deviation_ratio, 0.01 * saving->saving_ratio + 0.005);
}

// A place of the program that holds long work in some steps and short work in others, as batches come and go.
WorkOf Changing(int32_t slow, int64_t permille_of_long) {
  return [=](TimelineRun& run, int32_t rank, int64_t step, int64_t nth) {
    const bool is_long = (step * 5 + nth * 3) % 7 < 3;
    const int64_t usual = ((is_long ? 400 : 90) + (rank * 7 + step * 3 + nth * 5) % 5) * kUs;
    run.Work(rank, rank == slow && is_long ? usual * permille_of_long / 1'000 : usual);
  };
}

// The hosts are far ahead of their devices; but near the end of the run each is blocked until the device has done all,
// and then launches the next but one first: it starts after the next one all the same.
void LaunchOutOfOrder(ArrivalGraph& graph) {
  for (std::vector<ArrivalNode>& rows : graph.ranks) {
    const size_t turned = rows.size() - 4;
    const int64_t blocked_until_ns = rows[turned - 1].end_ns;
    for (size_t k = 0; k < rows.size(); ++k) {
      const int64_t ahead_ns = rows[0].start_ns + (static_cast<int64_t>(k) * 10 - 1'000) * kUs;
      int64_t launch_ns = k < turned ? ahead_ns : blocked_until_ns + static_cast<int64_t>(k - turned) * 10 * kUs;
      if (k == turned) launch_ns = blocked_until_ns + 15 * kUs;
      if (k == turned + 1) launch_ns = blocked_until_ns + 5 * kUs;
      rows[k].launch_start_ns = launch_ns - 3 * kUs;
      rows[k].launch_end_ns = launch_ns;
    }
  }
}

// Mending rank 1 saves what it costs against a run without it.
void ExpectSavesWhatItCosts(const GraphedRun& slow) {
  const Replay replay = ReplayOf(slow);
  EXPECT_TRUE(replay.base().faithful);
  const int64_t truth = StepNs(slow) - StepNs(MakeGraph(WorkedGrid(Usual())));
  const auto saving = SavingOn(replay, {.rank_indices = {1}});
  ASSERT_TRUE(saving);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), static_cast<double>(truth),
              0.1 * static_cast<double>(truth));
}

TEST(Replay, WhatABlockedHostLaunchesOutOfOrderDoesNotHoldUpTheRest) {
  GraphedRun slow = MakeGraph(WorkedGrid(SlowRank(1, 1'200)));
  LaunchOutOfOrder(slow.graph);
  ExpectSavesWhatItCosts(slow);
}

// Each host launches a step once the step so many before has ended, and its launches take next to no time.
void LaunchAhead(ArrivalGraph& graph, size_t steps_ahead) {
  constexpr size_t kRowsOfStep = 7;
  for (std::vector<ArrivalNode>& rows : graph.ranks) {
    for (size_t k = 0; k < rows.size(); ++k) {
      const size_t step = k / kRowsOfStep;
      const int64_t begin_ns = step < steps_ahead
                                   ? rows[0].start_ns - 1'000 * kUs + static_cast<int64_t>(step) * 100 * kUs
                                   : rows[(step - steps_ahead + 1) * kRowsOfStep - 1].end_ns + 8 * kUs;
      rows[k].launch_start_ns = begin_ns + static_cast<int64_t>(k % kRowsOfStep) * 4 * kUs;
      rows[k].launch_end_ns = rows[k].launch_start_ns + 3 * kUs;
    }
  }
}

TEST(Replay, AHostThatIsHeldBackByAnEarlierStepDoesNotKeepWhatASlowRankCosts) {
  for (const size_t steps_ahead : {1, 2, 3}) {
    GraphedRun slow = MakeGraph(WorkedGrid(SlowRank(1, 1'500)));
    LaunchAhead(slow.graph, steps_ahead);
    SCOPED_TRACE(steps_ahead);
    ExpectSavesWhatItCosts(slow);
  }
}

// Before each step the hosts wait for the one before. Rank 1's pauses before two of them; what the first step ran was
// launched before the capture.
TEST(Replay, APauseBeforeTheFirstLaunchOfACaptureIsMendedAsLaterOnesAre) {
  constexpr int64_t kPauseNs = 20'000 * kUs;
  GraphedRun paused = MakeGraph(WorkedGrid([](TimelineRun& run, int32_t rank, int64_t step, int64_t nth) {
    run.Work(rank, UsualNs(rank, step, nth));
    if (rank == 1 && nth == 0 && (step == 1 || step == 6)) run.Work(rank, kPauseNs, LatenessPart::kHost);
  }));
  LaunchAhead(paused.graph, 1);
  for (std::vector<ArrivalNode>& rows : paused.graph.ranks) {
    for (size_t k = 0; k < 7; ++k) rows[k].launch_start_ns = rows[k].launch_end_ns = kNoTime;
  }
  for (const size_t step : {1, 6}) {
    for (size_t k = 7 * step; k < 7 * step + 7; ++k) {
      paused.graph.ranks[1][k].launch_start_ns += kPauseNs;
      paused.graph.ranks[1][k].launch_end_ns += kPauseNs;
    }
  }
  const Replay replay = ReplayOf(paused);
  const auto saving = SavingOn(replay, {.rank_indices = {1}});
  ASSERT_TRUE(saving);
  const double truth = 2 * static_cast<double>(kPauseNs) / kReplaySteps;
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), truth, 0.05 * truth);
}

// The host's pace is the run's: its lead over the device grows, and mending the device gains nothing beyond it.
TEST(Replay, AHostThatIsNotHeldBackStillLimitsWhatIsSaved) {
  GraphedRun slow = MakeGraph(WorkedGrid(SlowRank(1, 1'200)));
  for (std::vector<ArrivalNode>& rows : slow.graph.ranks) {
    for (ArrivalNode& row : rows) {
      row.launch_start_ns = row.start_ns - 8 * kUs;
      row.launch_end_ns = row.launch_start_ns + 3 * kUs;
    }
  }
  const Replay replay = ReplayOf(slow);
  const auto saving = SavingOn(replay, {.rank_indices = {1}});
  ASSERT_TRUE(saving);
  const int64_t truth = StepNs(slow) - StepNs(MakeGraph(WorkedGrid(Usual())));
  EXPECT_LT(saving->saving_ns_per_step, truth / 2);
}

TEST(Replay, WhatOnlySomeStepsDoAtAPlaceIsLevelledApart) {
  const Replayed slow(WorkedGrid(Changing(1, 1'300)));
  const Replayed usual(WorkedGrid(Changing(1, 1'000)));
  const auto saving = slow.Saving({.rank_indices = {1}});
  ASSERT_TRUE(saving);
  const int64_t truth = StepNs(slow.run) - StepNs(usual.run);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), static_cast<double>(truth),
              0.03 * static_cast<double>(truth));
}

// Ranks 1 and 3 begin with the second meeting of the others.
TimelineRun BeginningLater(int64_t delay_ns) {
  TimelineRun run(4, {{0, 1}, {2, 3}, {0, 2}, {1, 3}});
  run.Work(1, delay_ns, LatenessPart::kHost);
  for (int64_t step = 0; step < kReplaySteps; ++step) {
    run.SetStep(step);
    for (const size_t group : {2, 0, 1, 3}) {
      if (group == 2 || group == 3) run.WorkAll(500 * kUs);
      run.Meet(group, 20 * kUs);
    }
  }
  return run;
}

TEST(Replay, ARankThatBeginsLaterThanOthersAtItsPlaceWasHeldUp) {
  constexpr int64_t kDelayNs = 20'000 * kUs;
  const Replayed late(BeginningLater(kDelayNs));
  const auto saving = late.Saving({.rank_indices = {1}});
  ASSERT_TRUE(saving);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), static_cast<double>(kDelayNs) / kReplaySteps,
              0.1 * static_cast<double>(kDelayNs) / kReplaySteps);
}

TEST(Replay, SavingOfOneOfTwoSlowRanksIsLimitedByTheOther) {
  const auto both = [](TimelineRun& run, int32_t rank, int64_t step, int64_t nth) {
    const int64_t permille = rank == 1 ? 1'300 : rank == 0 ? 1'200 : 1'000;
    run.Work(rank, UsualNs(rank, step, nth) * permille / 1'000);
  };
  const Replayed slow(WorkedGrid(both));
  const GraphedRun without = MakeGraph(WorkedGrid(SlowRank(0, 1'200)));
  // The only peer in its tensor group is the other slow one: to that level the rank is brought.
  const auto saving = slow.Saving({.rank_indices = {1}});
  ASSERT_TRUE(saving);
  const int64_t truth = StepNs(slow.run) - StepNs(without);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), static_cast<double>(truth),
              0.1 * static_cast<double>(truth));
}

TEST(Replay, AWholeGroupIsBroughtToTheLevelOfEqualGroups) {
  const auto slow_host = [](TimelineRun& run, int32_t rank, int64_t step, int64_t nth) {
    run.Work(rank, UsualNs(rank, step, nth) * (rank < 2 ? 1'200 : 1'000) / 1'000);
  };
  const Replayed slow(WorkedGrid(slow_host));
  const GraphedRun without = MakeGraph(WorkedGrid(Usual()));
  const auto saving = slow.Saving({.rank_indices = {0, 1}});
  ASSERT_TRUE(saving);
  const int64_t truth = StepNs(slow.run) - StepNs(without);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), static_cast<double>(truth),
              0.1 * static_cast<double>(truth));
}

WorkOf Copies(int32_t slow, int64_t slow_us) {
  return [=](TimelineRun& run, int32_t rank, int64_t step, int64_t nth) {
    run.Work(rank, UsualNs(rank, step, nth));
    run.Work(rank, (rank == slow ? slow_us : 20) * kUs, LatenessPart::kCopy);
  };
}

TEST(Replay, TheGuiltyPartAloneSavesWhatARerunWithoutItDoes) {
  const Replayed slow(WorkedGrid(Copies(2, 200)));
  const GraphedRun without = MakeGraph(WorkedGrid(Copies(2, 20)));
  const auto saving = slow.Saving({.rank_indices = {2}, .part = LatenessPart::kCopy});
  ASSERT_TRUE(saving);
  // Parts of the first piece of work of each communicator are not told: a tenth of the steps here.
  const int64_t truth = StepNs(slow.run) - StepNs(without);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), static_cast<double>(truth),
              0.1 * static_cast<double>(truth));
}

TEST(Replay, AnInnocentPartSavesNextToNothing) {
  const Replayed slow(WorkedGrid(Copies(2, 200)));
  const auto saving = slow.Saving({.rank_indices = {2}, .part = LatenessPart::kCompute});
  ASSERT_TRUE(saving);
  EXPECT_LT(std::abs(saving->saving_ns_per_step), 7 * 10 * kUs);
}

// Rank 1 stalls for long in every sixth step, rank 0 for less in every second one.
TEST(Replay, TheLongStallsOfOnePeerDoNotHideThoseOfAnother) {
  const auto stalls = [](bool of_rank_0) {
    TimelineRun run(5, {{0, 1, 2, 3, 4}});
    for (int64_t step = 0; step < 30; ++step) {
      run.SetStep(step);
      for (int64_t nth = 0; nth < 4; ++nth) {
        for (int32_t rank = 0; rank < 5; ++rank) {
          run.Work(rank, UsualNs(rank, step, nth));
          int64_t stall = (10 + (3 * rank + step) % 5) * kUs;
          if (nth == 0 && rank == 1 && step % 6 == 5) stall += 20'000 * kUs;
          if (nth == 0 && rank == 0 && step % 2 == 0 && of_rank_0) stall += 1'000 * kUs;
          run.Work(rank, stall, LatenessPart::kRest);
        }
        run.Meet(0, 20 * kUs);
      }
    }
    return run;
  };
  const Replayed with(stalls(true));
  const auto saving = with.Saving({.rank_indices = {0}});
  ASSERT_TRUE(saving);
  const auto span = [](const GraphedRun& run) {
    return run.graph.ranks[2].back().end_ns - run.graph.ranks[2].front().end_ns;
  };
  const double truth = static_cast<double>(span(with.run) - span(MakeGraph(stalls(false)))) / 30;
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), truth, 0.1 * truth);
}

TEST(Replay, ATimeLimitKeepsTheRestAsMeasured) {
  const Replayed r(WorkedGrid(SlowRank(3, 1'500)));
  const int64_t begin = r.run.graph.ranks[0].front().start_ns;
  const int64_t middle = begin + r.replay.base().measured_ns / 2;
  const auto all = r.Saving({.rank_indices = {3}});
  const auto half = r.Saving({.rank_indices = {3}, .time_ns = std::make_pair(begin, middle)});
  ASSERT_TRUE(all && half);
  const double share = static_cast<double>(half->saving_ns_per_step) / static_cast<double>(all->saving_ns_per_step);
  EXPECT_NEAR(share, 0.5, 0.1);
}

TEST(Replay, BoundsAreOrderedAndHoldTheSaving) {
  const Replayed r(WorkedGrid(SlowRank(1, 1'200)));
  const auto saving = r.Saving({.rank_indices = {1}});
  ASSERT_TRUE(saving);
  EXPECT_LE(saving->bound_lo_ns_per_step, saving->saving_ns_per_step);
  EXPECT_GE(saving->bound_hi_ns_per_step, saving->saving_ns_per_step);
  EXPECT_GT(saving->bound_lo_ns_per_step, 0);
}

TEST(Replay, ASlowCommunicatorIsBroughtToEqualOnes) {
  TimelineRun run(4, {{0, 1}, {2, 3}, {0, 1, 2, 3}});
  for (int64_t step = 0; step < kReplaySteps; ++step) {
    run.SetStep(step);
    for (int64_t nth = 0; nth < 5; ++nth) {
      run.WorkAll(300 * kUs);
      run.Meet(0, 90 * kUs);
      run.Meet(1, 30 * kUs);
    }
    run.WorkAll(100 * kUs);
    run.Meet(2, 50 * kUs);
  }
  const Replayed r(run);
  uint32_t slow = UINT32_MAX;
  for (uint32_t c = 0; c < r.run.matched.match.communicators.size(); ++c) {
    if (r.run.matched.match.communicators[c].members == std::vector<int32_t>{0, 1}) slow = c;
  }
  const auto saving = r.Saving({.communicators = {slow}});
  ASSERT_TRUE(saving);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), 5 * 60 * kUs, 6 * kUs);
}

TEST(Replay, WithoutTransfersWorkAndWaitsRemain) {
  const Replayed r(WorkedGrid(Usual()));
  const GraphedRun instant = MakeGraph(WorkedGrid(Usual(), 0));
  const auto zero = ZeroTransferNs(r.replay);
  ASSERT_TRUE(zero);
  int64_t begin = INT64_MAX;
  int64_t end = INT64_MIN;
  for (const auto& rows : instant.graph.ranks) {
    begin = std::min(begin, rows.front().start_ns);
    end = std::max(end, rows.back().end_ns);
  }
  EXPECT_EQ(*zero, end - begin - kReplaySteps * 100 * kUs);  // the data meetings took their time in that one
}

// In each of the inner steps another rank of four loses its record of a meeting: its gap holds its wait there.
TimelineRun AllMeet(int64_t slow_us, bool with_loss) {
  TimelineRun run(4, {{0, 1, 2, 3}});
  for (int64_t step = 0; step < kReplaySteps; ++step) {
    run.SetStep(step);
    for (int64_t nth = 0; nth < 6; ++nth) {
      for (int32_t rank = 0; rank < 4; ++rank)
        run.Work(rank, UsualNs(rank, step, nth) + (rank == 3 ? slow_us * kUs : 0));
      const bool inner = step > 0 && step + 1 < kReplaySteps;
      run.Meet(0, 20 * kUs, with_loss && inner && nth > 0 ? static_cast<int32_t>(nth % 3) : -1);
    }
  }
  return run;
}

TEST(Replay, ALostRecordDoesNotKeepTheWaitItHides) {
  const Replayed whole(AllMeet(200, false));
  const Replayed lossy(AllMeet(200, true));
  const auto told = whole.Saving({.rank_indices = {3}});
  const auto still = lossy.Saving({.rank_indices = {3}});
  ASSERT_TRUE(told && still);
  EXPECT_NEAR(static_cast<double>(still->saving_ns_per_step), static_cast<double>(told->saving_ns_per_step),
              0.03 * static_cast<double>(told->saving_ns_per_step));
}

// Stages whose steps have their long and short pieces in another order: place by place nothing can be compared.
TimelineRun Stages(int64_t permille_of_second) {
  TimelineRun run(4, {{0, 1}, {2, 3}, {0, 1, 2, 3}});
  for (int64_t step = 0; step < kReplaySteps; ++step) {
    run.SetStep(step);
    for (int64_t nth = 0; nth < 6; ++nth) {
      const int64_t ahead_us = nth < 3 ? 300 : 900;
      const int64_t mixed_us = nth % 2 == 0 ? 300 : 900;
      for (int32_t rank = 0; rank < 2; ++rank) run.Work(rank, ahead_us * kUs);
      for (int32_t rank = 2; rank < 4; ++rank) run.Work(rank, mixed_us * permille_of_second);
      run.Meet(0, 20 * kUs);
      run.Meet(1, 20 * kUs);
    }
    run.WorkAll(50 * kUs);
    run.Meet(2, 20 * kUs);
  }
  return run;
}

TEST(Replay, AStageInAnotherOrderIsBroughtToTheOthersAsAWhole) {
  const Replayed slow(Stages(1'200));
  const auto saving = slow.Saving({.rank_indices = {2, 3}});
  ASSERT_TRUE(saving);
  const double truth = 0.2 * 3'600 * kUs;
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), truth, 0.1 * truth);
}

// Two groups that never wait for each other.
TimelineRun Replicas(int64_t first_ns, int64_t second_ns) {
  TimelineRun run(4, {{0, 1}, {2, 3}});
  for (int64_t step = 0; step < kReplaySteps; ++step) {
    run.SetStep(step);
    for (int64_t nth = 0; nth < 4; ++nth) {
      run.WorkAll(400 * kUs);
      run.Work(0, first_ns);
      run.Work(2, second_ns);
      run.Meet(0, 20 * kUs);
      run.Meet(1, 20 * kUs);
    }
  }
  return run;
}

TEST(Replay, OfIndependentGroupsTheSlowestDecidesWhatTheRunGains) {
  const Replayed r(Replicas(100 * kUs, 0));
  const auto saving = r.Saving({.rank_indices = {0}});
  ASSERT_TRUE(saving);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), 4.0 * 100 * kUs, 4.0 * 5 * kUs);
}

// The capture of the second group holds long steps that the first one's lacks: of those steps they are not compared.
TEST(Replay, IndependentGroupsAreComparedOverTheStepsThatBothHave) {
  TimelineRun run(4, {{0, 1}, {2, 3}});
  for (int64_t step = 0; step < kReplaySteps; ++step) {
    run.SetStep(step);
    for (int64_t nth = 0; nth < 4; ++nth) {
      for (const int32_t rank : {2, 3}) run.Work(rank, step < 2 ? 10'000 * kUs : 400 * kUs);
      run.Meet(1, 20 * kUs);
      if (step < 2) continue;
      run.Work(0, 500 * kUs);
      run.Work(1, 400 * kUs);
      run.Meet(0, 20 * kUs);
    }
  }
  const auto saving = Replayed(run).Saving({.rank_indices = {0}});
  ASSERT_TRUE(saving);
  EXPECT_NEAR(static_cast<double>(saving->saving_ns_per_step), 4.0 * 100 * kUs, 4.0 * 5 * kUs);
}

// However short the steps of the others are: the part is of the step that is shortened.
TEST(Replay, NoSavingIsAllOfAStep) {
  const Replayed r(Replicas(20'000 * kUs, 0));
  const auto saving = r.Saving({.rank_indices = {0}});
  ASSERT_TRUE(saving);
  EXPECT_GT(saving->saving_ratio, 0.5);
  EXPECT_LT(saving->saving_ratio, 1);
}

TEST(Replay, AGroupBesideASlowerOneGainsTheRunNothing) {
  const Replayed r(Replicas(100 * kUs, 150 * kUs));
  const auto saving = r.Saving({.rank_indices = {0}});
  ASSERT_TRUE(saving);
  EXPECT_EQ(saving->saving_ns_per_step, 0);
}

TEST(Replay, WithoutAnybodyToCompareWithNothingIsTold) {
  const Replayed r(WorkedGrid(Usual()));
  EXPECT_FALSE(r.Saving({.rank_indices = {0, 1, 2, 3}}));
  EXPECT_TRUE(r.Saving({.rank_indices = {0, 1, 2}}));
}

// A fourteenth of the meetings lack a partner: few, but of all that rank 2 does on one of its streams.
TEST(Replay, AKindOfCommunicationWithoutPartnersForbidsAWhatIf) {
  TimelineRun run(4, {{0, 1}, {2, 3}, {0, 2}});
  for (int64_t step = 0; step < kReplaySteps; ++step) {
    run.SetStep(step);
    for (int64_t nth = 0; nth < 13; ++nth) {
      run.WorkAll(400 * kUs);
      run.Meet(0, 20 * kUs);
      run.Meet(1, 20 * kUs);
    }
    run.Work(0, 300 * kUs);
    run.Meet(2, 20 * kUs, /*lost=*/0);
  }
  GraphedRun graphed = MakeGraph(run);
  ASSERT_TRUE(ReplayOf(graphed).base().faithful);
  for (size_t row = 13; row < graphed.graph.ranks[2].size(); row += 14) graphed.graph.ranks[2][row].stream = 9;
  EXPECT_FALSE(ReplayOf(graphed).base().faithful);
}

// Clocks of a device's records scatter: some of the segments lost what came before and tell a dependency instead.
TEST(Replay, ADependencyOnNothingKnownIsTakenForWork) {
  GraphedRun graphed = MakeGraph(WorkedGrid(SlowRank(1, 1'200)));
  const auto told = SavingOn(ReplayOf(graphed), {.rank_indices = {1}});
  for (size_t row = 3; row < graphed.graph.ranks[1].size(); row += 7) {
    Segment& segment = graphed.graph.ranks[1][row].segment;
    segment.dependency_ns = segment.compute_ns;
    segment.compute_ns = 0;
  }
  const auto still = SavingOn(ReplayOf(graphed), {.rank_indices = {1}});
  ASSERT_TRUE(told && still);
  EXPECT_GT(told->saving_ns_per_step, 0);
  EXPECT_EQ(still->saving_ns_per_step, told->saving_ns_per_step);
}

TEST(Replay, ARankAloneIsNotToldAnything) {
  TimelineRun run(1, {{0}});
  for (int64_t step = 0; step < kReplaySteps; ++step) {
    run.SetStep(step);
    run.Work(0, 300 * kUs);
    run.Meet(0, 10 * kUs);
  }
  const Replayed r(run);
  EXPECT_FALSE(r.replay.base().faithful);
  EXPECT_FALSE(r.Saving({.rank_indices = {0}}));
  EXPECT_FALSE(ZeroTransferNs(r.replay));
}

TEST(Replay, IsTheSameInWhateverOrderItsRanksAreBuilt) {
  const GraphedRun run = MakeGraph(WorkedGrid(SlowRank(1, 1'200)));
  const Replay forward = ReplayOf(run);
  const Replay backward = ReplayOf(run, /*reversed=*/true);
  EXPECT_EQ(forward.base().faithful, backward.base().faithful);
  EXPECT_EQ(forward.base().replayed_ns, backward.base().replayed_ns);
  EXPECT_EQ(ZeroTransferNs(forward), ZeroTransferNs(backward));
  for (int32_t rank = 0; rank < static_cast<int32_t>(run.graph.ranks.size()); ++rank) {
    for (const LatenessPart part : {LatenessPart::kCompute, LatenessPart::kHost}) {
      const Idealisation ideal = {.rank_indices = {rank}, .part = part};
      const auto one = SavingOn(forward, ideal);
      const auto other = SavingOn(backward, ideal);
      ASSERT_TRUE(one && other);
      EXPECT_EQ(one->saving_ns_per_step, other->saving_ns_per_step);
      EXPECT_EQ(one->bound_lo_ns_per_step, other->bound_lo_ns_per_step);
    }
  }
}

TEST(Replay, AnEmptyGraphIsNotToldAnything) {
  const ArrivalGraph graph;
  const MatchResult match;
  const Replay replay = ReplayOf(graph, match);
  EXPECT_FALSE(replay.base().faithful);
  EXPECT_FALSE(SavingOn(replay, {}));
}

// A program of coupled ranks, and one of ranks that never wait for each other.
TEST(Replay, WhatIfsThatShareTheirRoomAndAnExecutorTellWhatEachTellsAlone) {
  for (const TimelineRun& timeline : {WorkedGrid(SlowRank(1, 1'200)), Replicas(300 * kUs, 100 * kUs)}) {
    const Replayed r(timeline);
    InlineExecutor reversed(true);
    ReplayScratch shared(&reversed);
    std::vector<Idealisation> ideals = {{}, {.communicators = {0}}, {.communicators = {0, 1}}};
    for (int32_t rank = 0; rank < 4; ++rank) {
      ideals.push_back({.rank_indices = {rank}});
      ideals.push_back({.rank_indices = {rank}, .part = LatenessPart::kCompute});
      ideals.push_back({.rank_indices = {rank}, .part = LatenessPart::kHost});
      ideals.push_back({.rank_indices = {0, rank}});
      ideals.push_back({.rank_indices = {1, 2, rank}});
    }
    for (int round = 0; round < 2; ++round) {
      for (const Idealisation& ideal : ideals) {
        const auto together = r.replay.Saving(ideal, shared);
        const auto alone = r.Saving(ideal);
        ASSERT_EQ(together.has_value(), alone.has_value());
        if (!alone) continue;
        EXPECT_EQ(together->saving_ns_per_step, alone->saving_ns_per_step);
        EXPECT_EQ(together->bound_lo_ns_per_step, alone->bound_lo_ns_per_step);
        EXPECT_EQ(together->bound_hi_ns_per_step, alone->bound_hi_ns_per_step);
      }
    }
  }
}

TEST(Replay, ARankThatDoesNotExistIsLeftOut) {
  const Replayed r(WorkedGrid(Usual()));
  const auto saving = r.Saving({.rank_indices = {-1, 99}});
  ASSERT_TRUE(saving);
  EXPECT_EQ(saving->saving_ns_per_step, 0);
}

}  // namespace
}  // namespace lockstep
