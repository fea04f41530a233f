#include "analysis/metrics/stragglers/replayed_savings.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace lockstep {
namespace {

// Ranks from 0 on, each a candidate, whose mending saves what `of_each` says; else as much as their numbers say.
class Asked {
 public:
  explicit Asked(size_t ranks = 3) : candidates_(ranks), savings_(candidates_, units_, ask_, all_) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      candidates_[rank].rank_indices = {static_cast<int32_t>(rank)};
      of_each.push_back(static_cast<int64_t>(rank) + 1);
    }
  }
  ReplayedSavings& savings() { return savings_; }
  std::vector<std::vector<int32_t>> replayed;
  double step_ns = 100;
  std::vector<int64_t> of_each;
  size_t most_replayed = SIZE_MAX;  // ranks: of more nothing is told

 private:
  std::vector<Candidate> candidates_;
  TestUnits units_;
  ReplayedPart all_;
  ReplayedSavings::Ask ask_ = [this](const Idealisation& ideal) {
    replayed.push_back(ideal.rank_indices);
    if (ideal.rank_indices.size() > most_replayed) return std::optional<WhatIf>();
    WhatIf saved;
    for (const int32_t rank : ideal.rank_indices) saved.saving_ns_per_step += of_each[static_cast<size_t>(rank)];
    saved.saving_ratio = static_cast<double>(saved.saving_ns_per_step) / step_ns;
    return std::optional(saved);
  };
  ReplayedSavings savings_;
};

TEST(ReplayedSavings, AfterOthersIsWhatBothSaveWithoutWhatTheOthersSave) {
  Asked asked;
  EXPECT_EQ(asked.savings().After(2, {1, 0, 1})->saving_ns_per_step, 3);
  EXPECT_EQ(asked.replayed, (std::vector<std::vector<int32_t>>{{0, 1, 2}, {0, 1}}));
}

// A step of 1,000 ns: what mending rank 1 alone saves is known, so that rank 0 saves at most 1 ns after 1, which is
// less than anybody is told.
TEST(ReplayedSavings, WhatIsCertainlyTooLittleAfterOthersIsNotReplayed) {
  Asked asked;
  asked.step_ns = 1'000;
  (void)asked.savings().OfOne(1);
  EXPECT_EQ(asked.savings().After(0, {1})->saving_ns_per_step, 1);
  EXPECT_EQ(asked.replayed, (std::vector<std::vector<int32_t>>{{1}, {0, 1}}));
}

TEST(ReplayedSavings, WhatMoreRanksSaveTogetherShowsThatOneOfThemSavesTooLittle) {
  Asked asked;
  asked.step_ns = 10'000;
  asked.savings().Learn({2, 1, 0});
  (void)asked.savings().OfOne(2);
  EXPECT_EQ(asked.savings().After(0, {2})->saving_ns_per_step, 3);  // at most: with rank 1
  EXPECT_EQ(asked.replayed, (std::vector<std::vector<int32_t>>{{0, 1, 2}, {2}}));
}

std::vector<int32_t> AllRanks(size_t ranks) {
  std::vector<int32_t> out(ranks);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(ReplayedSavings, FewSuspectsAreAskedAboutOneByOne) {
  Asked asked(8);
  asked.step_ns = 100'000;
  asked.savings().Suspect(AllRanks(8));
  (void)asked.savings().OfOneAtMost(0);
  (void)asked.savings().OfOneAtMost(1);
  EXPECT_EQ(asked.replayed, (std::vector<std::vector<int32_t>>{{0}, {1}}));
}

TEST(ReplayedSavings, ManySuspectsWhoSaveTooLittleTogetherAreOneQuestion) {
  Asked asked(200);
  asked.of_each.assign(200, 1);
  asked.step_ns = 100'000;
  asked.savings().Suspect(AllRanks(200));
  for (size_t rank = 0; rank < 200; ++rank) EXPECT_LT(asked.savings().OfOneAtMost(rank)->saving_ratio, 0.003);
  EXPECT_EQ(asked.replayed, std::vector<std::vector<int32_t>>{AllRanks(200)});
}

TEST(ReplayedSavings, WhereAllSuspectsTogetherLeaveNobodyToCompareWithFewerAreAskedAbout) {
  Asked asked(20);
  asked.most_replayed = 10;
  asked.of_each.assign(20, 1);
  asked.step_ns = 100'000;
  asked.savings().Suspect(AllRanks(20));
  for (size_t rank = 0; rank < 20; ++rank) EXPECT_TRUE(asked.savings().OfOneAtMost(rank)) << rank;
  EXPECT_EQ(asked.replayed.size(), 3u);
}

// A job of 400 suspects of whom `count` save enough to be told, anywhere among them.
struct FewAmongMany {
  static constexpr size_t kRanks = 400;

  FewAmongMany(uint64_t seed, size_t count) : asked(kRanks) {
    std::mt19937_64 random(seed);
    asked.step_ns = 10'000;
    asked.of_each.assign(kRanks, 0);
    while (saving.size() < count) saving.insert(1 + random() % (kRanks - 1));
    for (const size_t rank : saving) asked.of_each[rank] = 30 + static_cast<int64_t>(random() % 100);
    asked.savings().Suspect(AllRanks(kRanks));
  }

  void Check(size_t rank, const std::optional<WhatIf>& saved) const {
    ASSERT_TRUE(saved) << rank;
    if (saving.contains(rank)) {
      EXPECT_EQ(saved->saving_ns_per_step, asked.of_each[rank]) << rank;
    } else {
      EXPECT_LT(saved->saving_ratio, 0.003) << rank;
    }
  }

  Asked asked;
  std::set<size_t> saving;
};

// About twice the logarithm of the suspects for each who is found.
TEST(ReplayedSavings, AmongManySuspectsThoseWhoSaveEnoughAreToldExactlyAfterFewQuestions) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    FewAmongMany job(seed, seed % 4);
    for (size_t rank = 1; rank < FewAmongMany::kRanks; ++rank) job.Check(rank, job.asked.savings().OfOneAtMost(rank));
    EXPECT_LE(job.asked.replayed.size(), 2 + 18 * job.saving.size()) << seed;
  }
}

TEST(ReplayedSavings, AmongManySuspectsThoseWhoSaveEnoughAfterOthersAreFoundByAsFewQuestions) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    FewAmongMany job(seed, seed % 4);
    for (size_t rank = 1; rank < FewAmongMany::kRanks; ++rank) job.Check(rank, job.asked.savings().After(rank, {0}));
    EXPECT_LE(job.asked.replayed.size(), 2 + 18 * job.saving.size()) << seed;
  }
}

TEST(ReplayedSavings, OfALargeRunOnlySoManyQuestionsAreAnswered) {
  Asked asked;
  int answered = 0;
  while (asked.savings().MayAsk()) answered += asked.savings().OfOne(0) ? 1 : 0;
  EXPECT_EQ(answered, 48);
  EXPECT_FALSE(asked.savings().OfOne(0));
}

}  // namespace
}  // namespace lockstep
