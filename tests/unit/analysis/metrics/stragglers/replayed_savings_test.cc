#include "analysis/metrics/stragglers/replayed_savings.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

// Ranks 0 to 2, each a candidate, whose mending saves as much as the numbers of the ranks say.
class Asked {
 public:
  Asked() : savings_(candidates_, units_, ask_, all_) {
    for (int32_t rank = 0; rank < 3; ++rank) candidates_[static_cast<size_t>(rank)].rank_indices = {rank};
  }
  ReplayedSavings& savings() { return savings_; }
  std::vector<std::vector<int32_t>> replayed;
  double step_ns = 100;

 private:
  std::vector<Candidate> candidates_{3};
  TestUnits units_;
  ReplayedPart all_;
  ReplayedSavings::Ask ask_ = [this](const Idealisation& ideal) {
    replayed.push_back(ideal.rank_indices);
    WhatIf saved;
    for (const int32_t rank : ideal.rank_indices) saved.saving_ns_per_step += rank + 1;
    saved.saving_ratio = static_cast<double>(saved.saving_ns_per_step) / step_ns;
    return saved;
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

TEST(ReplayedSavings, OfALargeRunOnlySoManyQuestionsAreAnswered) {
  Asked asked;
  int answered = 0;
  while (asked.savings().MayAsk()) answered += asked.savings().OfOne(0) ? 1 : 0;
  EXPECT_EQ(answered, 48);
  EXPECT_FALSE(asked.savings().OfOne(0));
}

}  // namespace
}  // namespace lockstep
