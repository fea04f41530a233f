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

 private:
  std::vector<Candidate> candidates_{3};
  TestUnits units_;
  ReplayedPart all_;
  ReplayedSavings::Ask ask_ = [this](const Idealisation& ideal) {
    replayed.push_back(ideal.rank_indices);
    WhatIf saved;
    for (const int32_t rank : ideal.rank_indices) saved.saving_ns_per_step += rank + 1;
    return saved;
  };
  ReplayedSavings savings_;
};

TEST(ReplayedSavings, AfterOthersIsWhatBothSaveWithoutWhatTheOthersSave) {
  Asked asked;
  EXPECT_EQ(asked.savings().After(2, {1, 0, 1})->saving_ns_per_step, 3);
  EXPECT_EQ(asked.replayed, (std::vector<std::vector<int32_t>>{{0, 1}, {0, 1, 2}}));
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
