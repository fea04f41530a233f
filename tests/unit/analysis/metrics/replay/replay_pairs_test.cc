#include "analysis/metrics/replay/replay_pairs.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "analysis/metrics/replay/replay_peers.h"
#include "tests/unit/analysis/metrics/replay/hand_made_run.h"

namespace lockstep {
namespace {

constexpr int32_t kStepsOfPairs = 5;
constexpr int32_t kExchangesInStep = 3;
constexpr int32_t kOddStep = 2;

// Two communicators of two ranks each, whose members exchange three times a step. `meet_oddly` adds what takes the
// place of the second exchange of the first communicator's odd step.
class TwoPairs {
 public:
  using Meet = std::function<void(HandMadeRun& run, int64_t at_us)>;

  explicit TwoPairs(const Meet& meet_oddly) : run_(4) {
    AddPair(0, meet_oddly);
    first_of_second_ = run_.match().instances.size();
    AddPair(2, {});
    graph_ = run_.Graph();
  }

  // Of the instances of the first communicator in a step.
  [[nodiscard]] std::vector<int32_t> Places(int32_t step) const {
    std::vector<int32_t> out;
    for (size_t i = 0; i < first_of_second_; ++i) {
      if (run_.match().instances[i].step == step) out.push_back(graph_.pair_places[i].nth);
    }
    return out;
  }

  // The instances of the second communicator at the places of the first one's in its first step.
  [[nodiscard]] std::vector<int32_t> LikeInFirstStep() const {
    const ReplayPeers peers(graph_, run_.match());
    std::vector<int32_t> out;
    for (int32_t i = 0; i < kExchangesInStep; ++i) {
      for (const int32_t like : peers.InstancesLike(i)) {
        if (like >= static_cast<int32_t>(first_of_second_))
          out.push_back(like - static_cast<int32_t>(first_of_second_));
      }
    }
    return out;
  }

 private:
  void AddPair(int32_t rank, const Meet& meet_oddly) {
    run_.AddCommunicator({rank, rank + 1});
    for (int32_t step = 0; step < kStepsOfPairs; ++step) {
      run_.SetStep(step);
      for (int32_t place = 0; place < kExchangesInStep; ++place) {
        const int64_t at_us = 10'000 * step + 1'000 * place;
        if (meet_oddly && step == kOddStep && place == 1) {
          meet_oddly(run_, at_us);
        } else {
          run_.Meet(CollectiveOp::kSendRecv, {{rank, at_us, at_us + 100}, {rank + 1, at_us, at_us + 100}});
        }
      }
    }
  }

  HandMadeRun run_;
  size_t first_of_second_ = 0;
  ReplayGraph graph_;
};

const std::vector<int32_t> kAllPlaces = {0, 1, 2};

TEST(ReplayPairs, RowsThatDidNotFindEachOtherInOneStepLeaveThePlacesOfTheOtherSteps) {
  const TwoPairs pairs([](HandMadeRun& run, int64_t at_us) {
    run.Meet(CollectiveOp::kSendRecv, {{0, at_us, at_us + 100}});
    run.Meet(CollectiveOp::kSendRecv, {{1, at_us, at_us + 100}});
  });
  for (int32_t step = 0; step < kStepsOfPairs; ++step) {
    if (step != kOddStep) {
      EXPECT_EQ(pairs.Places(step), kAllPlaces) << step;
    }
  }
  EXPECT_EQ(pairs.Places(kOddStep), std::vector<int32_t>(4, -1)) << "nothing tells which of them are one exchange";
  EXPECT_EQ(pairs.LikeInFirstStep(), kAllPlaces) << "the other pair does the same";
}

TEST(ReplayPairs, OfTwoRanksTheOneThatKeptItsRecordHoldsThePlace) {
  const TwoPairs pairs([](HandMadeRun& run, int64_t at_us) {
    run.Meet(CollectiveOp::kSendRecv, {{0, at_us, at_us + 100}});
  });
  for (int32_t step = 0; step < kStepsOfPairs; ++step) EXPECT_EQ(pairs.Places(step), kAllPlaces) << step;
  EXPECT_EQ(pairs.LikeInFirstStep(), kAllPlaces);
}

TEST(ReplayPairs, AStepThatLostAWholeExchangeHasNoPlaces) {
  const TwoPairs pairs([](HandMadeRun& /*run*/, int64_t /*at_us*/) {});
  EXPECT_EQ(pairs.Places(kOddStep), std::vector<int32_t>(2, -1));
  EXPECT_EQ(pairs.Places(0), kAllPlaces);
  EXPECT_EQ(pairs.LikeInFirstStep(), kAllPlaces);
}

}  // namespace
}  // namespace lockstep
