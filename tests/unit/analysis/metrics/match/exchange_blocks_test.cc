// Groups that exchange all with all, found from when their kernels started and ended.
#include "analysis/metrics/match/lanes/exchange_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/time_units.h"

namespace lockstep {
namespace {

struct ExchangeJob {
  size_t groups = 2;
  size_t members = 4;
  int64_t steps = 20;
  int64_t exchanges = 8;    // in a step
  int64_t pause_every = 4;  // steps in which rank 1 of the first group pauses; 0: never
  double loss = 0;
  bool all_meet = true;  // at the end of each step, as data-parallel ranks do
  size_t stride = 1;     // of the ranks of a group

  [[nodiscard]] size_t ranks() const { return groups * members; }
};

std::vector<std::vector<size_t>> GroupsOf(const ExchangeJob& job) {
  std::vector<std::vector<size_t>> groups(job.groups);
  for (size_t r = 0; r < job.ranks(); ++r) {
    groups[r / (job.stride * job.members) * job.stride + r % job.stride].push_back(r);
  }
  return groups;
}

// Each exchange takes 80 us or, by its volume, up to 160 us after all members of the group have started.
std::vector<BlockLane> DrawExchanges(const ExchangeJob& job, std::mt19937& random) {
  std::vector<BlockLane> lanes(job.ranks());
  for (size_t r = 0; r < lanes.size(); ++r) lanes[r].rank = static_cast<int32_t>(r);
  std::vector<int64_t> now(job.ranks());
  const std::vector<std::vector<size_t>> groups = GroupsOf(job);
  const auto some = [&](int64_t most) { return static_cast<int64_t>(random() % static_cast<uint64_t>(most)); };
  for (int64_t step = 0; step < job.steps; ++step) {
    if (job.pause_every > 0 && step % job.pause_every == 1) now[1] += 5'000 * kUs;
    for (int64_t n = 0; n < job.exchanges; ++n) {
      for (const std::vector<size_t>& group : groups) {
        int64_t last = 0;
        for (const size_t r : group) {
          now[r] += 500 * kUs + some(20 * kUs);
          last = std::max(last, now[r]);
        }
        for (const size_t r : group) {
          const int64_t end = last + 80 * kUs + some(80 * kUs);
          if (!std::bernoulli_distribution(job.loss)(random)) lanes[r].rows.push_back({step, now[r], end});
          now[r] = end;
        }
      }
    }
    if (job.all_meet) std::fill(now.begin(), now.end(), *std::max_element(now.begin(), now.end()));
  }
  return lanes;
}

TEST(ExchangeBlocks, AreFoundWhereOneRankPausesAtTimes) {
  std::mt19937 random(41);
  for (int trial = 0; trial < 60; ++trial) {
    ExchangeJob job;
    job.groups = 2 + random() % 3;
    job.members = 3 + random() % 6;
    job.stride = trial % 2 == 0 ? 1 : job.groups;
    job.steps = 40;
    job.loss = trial % 3 == 0 ? 0.004 : 0;
    EXPECT_EQ(FindExchangeBlocks(DrawExchanges(job, random)), GroupsOf(job)) << trial;
  }
}

// Groups in lockstep look like one group, and one group like several.
TEST(ExchangeBlocks, WhereNothingTellsThemApartNoneIsFound) {
  std::mt19937 random(42);
  for (int trial = 0; trial < 30; ++trial) {
    ExchangeJob job;
    job.groups = 1 + random() % 3;
    job.members = job.groups == 1 ? 8 : 4;
    job.pause_every = job.groups == 1 ? 4 : 0;
    EXPECT_TRUE(FindExchangeBlocks(DrawExchanges(job, random)).empty()) << trial;
  }
}

TEST(ExchangeBlocks, AreNeverFoundOtherThanTheyAre) {
  std::mt19937 random(43);
  for (int trial = 0; trial < 200; ++trial) {
    ExchangeJob job;
    job.groups = 1 + random() % 4;
    job.members = 2 + random() % 4;
    job.steps = 3 + static_cast<int64_t>(random() % 20);
    job.pause_every = static_cast<int64_t>(random() % 6);
    job.loss = random() % 2 == 0 ? 0 : 0.02;
    job.all_meet = random() % 2 == 0;
    const std::vector<std::vector<size_t>> found = FindExchangeBlocks(DrawExchanges(job, random));
    if (!found.empty()) {
      EXPECT_EQ(found, GroupsOf(job)) << trial;
    }
  }
}

// Stages of a pipeline exchange with their neighbours: no two of them are in one group of all with all.
TEST(ExchangeBlocks, ThePairsOfAPipelineAreNone) {
  std::mt19937 random(44);
  constexpr size_t kStages = 6;
  std::vector<BlockLane> lanes(kStages);
  for (size_t r = 0; r < kStages; ++r) lanes[r].rank = static_cast<int32_t>(r);
  std::vector<int64_t> now(kStages);
  for (int64_t step = 0; step < 20; ++step) {
    for (int micro = 0; micro < 6; ++micro) {
      for (size_t stage = 0; stage + 1 < kStages; ++stage) {
        now[stage] += 500 * kUs + static_cast<int64_t>(random() % 20'000);
        const int64_t end = std::max(now[stage], now[stage + 1]) + 30 * kUs;
        lanes[stage].rows.push_back({step, now[stage], end});
        lanes[stage + 1].rows.push_back({step, now[stage + 1], end});
        now[stage] = end;
        now[stage + 1] = end;
      }
    }
  }
  EXPECT_TRUE(FindExchangeBlocks(lanes).empty());
}

TEST(ExchangeBlocks, NothingAndLanesWithoutRowsAreNone) {
  EXPECT_TRUE(FindExchangeBlocks({}).empty());
  EXPECT_TRUE(FindExchangeBlocks(std::vector<BlockLane>(8)).empty());
}

}  // namespace
}  // namespace lockstep
