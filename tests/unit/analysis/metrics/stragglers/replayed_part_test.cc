#include "analysis/metrics/stragglers/replayed_part.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr WhatIf kSaving{
    .saving_ns_per_step = 200, .saving_ratio = 0.2, .bound_lo_ns_per_step = 100, .bound_hi_ns_per_step = 300};

// One candidate: rank 0, late by `excess_ns` in each of its steps of ten collectives.
struct Lateness {
  std::vector<RankOwnTime> own{1};
  std::vector<Candidate> candidates{1};

  Lateness(double excess_ns, size_t steps, int64_t instances) {
    Candidate& candidate = candidates.front();
    candidate.rank_indices = {0};
    for (size_t unit = 0; unit < steps; ++unit) candidate.Add(unit, excess_ns);
    candidate.parts[static_cast<size_t>(LatenessPart::kHost)] = excess_ns;
    own.front().units = static_cast<int64_t>(steps);
    own.front().instances = instances;
  }
  [[nodiscard]] ReplayedPart::Measured measured() const { return {own, candidates}; }
};

TEST(ReplayedPart, OfAWholeRunLeavesSavingsAsTheyAre) {
  const ReplayedPart all;
  EXPECT_TRUE(all.Shows(5));
  EXPECT_EQ(all.OfTheRun(5, kSaving)->saving_ns_per_step, 200);
  EXPECT_FALSE(all.OfTheRun(5, std::nullopt).has_value());
}

// Twice as late in the run: a step of 1,000 of which 800 are the others' is one of 1,200.
TEST(ReplayedPart, WithHalfOfTheRunsLatenessSavesTwiceAsMuchInTheRun) {
  const ReplayedPart part(Lateness(60, 100, 1'000).measured(), Lateness(30, 5, 50).measured());
  const std::optional<WhatIf> told = part.OfTheRun(0, kSaving);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->saving_ns_per_step, 400);
  EXPECT_EQ(told->bound_lo_ns_per_step, 200);
  EXPECT_EQ(told->bound_hi_ns_per_step, 600);
  EXPECT_DOUBLE_EQ(told->saving_ratio, 400.0 / 1'200);
}

// Five measured steps, and collectives of half a step more at either end.
TEST(ReplayedPart, CountsStepsByWhatIsThereOfThem) {
  const ReplayedPart part(Lateness(60, 100, 1'000).measured(), Lateness(72, 5, 60).measured());
  EXPECT_EQ(part.OfTheRun(0, kSaving)->saving_ns_per_step, 200);
}

TEST(ReplayedPart, TellsNothingOfACauseThatItDoesNotShow) {
  const Lateness run(60, 100, 1'000);
  for (const Lateness& little : {Lateness(10, 5, 50), Lateness(0, 5, 50), Lateness(-20, 5, 50), Lateness(300, 5, 50)}) {
    const ReplayedPart part(run.measured(), little.measured());
    EXPECT_FALSE(part.Shows(0));
    EXPECT_FALSE(part.OfTheRun(0, kSaving).has_value());
  }
  Lateness other(60, 5, 50);
  other.candidates.front().id = "another";
  EXPECT_FALSE(ReplayedPart(run.measured(), other.measured()).Shows(0));
}

// No step of it is whole, so that it is no candidate there.
TEST(ReplayedPart, KnowsARankAmongMembersFromLessThanAStep) {
  Lateness run(60, 100, 1'000);
  Lateness part(0, 0, 5);
  part.candidates.clear();
  for (Lateness* of : {&run, &part}) of->own.front().compared = true;
  run.own.front().excess_parts[static_cast<size_t>(LatenessPart::kHost)] = 60 * 100;
  part.own.front().excess_parts[static_cast<size_t>(LatenessPart::kHost)] = 15;
  EXPECT_EQ(ReplayedPart(run.measured(), part.measured()).OfTheRun(0, kSaving)->saving_ns_per_step, 400);
}

TEST(ReplayedPart, DoesNotCompareTimesBeforeCollectivesOfDifferentCommunicators) {
  Lateness part(60, 5, 50);
  part.own.front().communicator = 7;
  EXPECT_FALSE(ReplayedPart(Lateness(60, 100, 1'000).measured(), part.measured()).Shows(0));
}

TEST(ReplayedPart, ComparesTransfersStepByStep) {
  Lateness run(60, 100, 1'000);
  Lateness half(30, 5, 9);
  run.candidates.front().communicators = {3};
  half.candidates.front().communicators = {3};
  EXPECT_EQ(ReplayedPart(run.measured(), half.measured()).OfTheRun(0, kSaving)->saving_ns_per_step, 400);
}

}  // namespace
}  // namespace lockstep
