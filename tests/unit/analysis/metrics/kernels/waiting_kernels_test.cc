// Kernels that nobody classified as communication but that wait.
#include "analysis/metrics/kernels/waiting_kernels.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/model/kernel_class.h"

namespace lockstep {
namespace {

constexpr int64_t kSpan = 1'000'000;

struct OneRank {
  int64_t other = 0;    // kernels besides
  int64_t unknown = 0;  // in the kernel in question
  int64_t communication = 0;
  int64_t ends = kSpan;  // when its last kernel does
};

// `parts`: as so many kernels of equal length.
std::optional<WaitingKernel> Find(const std::vector<OneRank>& ranks, Category category = Category::kCompute,
                                  int32_t parts = 1) {
  FleetMeasures measures;
  KernelSummary kernels;
  KernelGroup unknown;
  unknown.name = "mystery";
  unknown.category = category;
  KernelGroup other;
  other.name = "gemm";
  other.category = Category::kCompute;
  for (size_t r = 0; r < ranks.size(); ++r) {
    RankMeasures measure;
    measure.selected.span_ns = kSpan;
    measure.selected.compute_ns = ranks[r].other + (category == Category::kCompute ? ranks[r].unknown : 0);
    measure.selected.comm_ns = ranks[r].communication;
    measure.selected.idle_other_ns = ranks[r].ends - ranks[r].other - ranks[r].unknown - ranks[r].communication;
    measures.ranks.push_back(std::move(measure));
    unknown.by_rank.push_back({r, 100, ranks[r].unknown / parts, {}});
    other.by_rank.push_back({r, 100, ranks[r].other, {}});
  }
  kernels.groups = {other};
  for (int32_t part = 0; part < parts; ++part) {
    if (part > 0) unknown.name = "mystery" + std::to_string(part);
    kernels.groups.push_back(unknown);
  }
  return FindWaitingKernel(measures, kernels);
}

TEST(WaitingKernels, AKernelThatIsShortOnWhoHasMostToDoLooksLikeCommunication) {
  const auto found = Find({{300'000, 400'000, 0}, {660'000, 40'000, 0}, {310'000, 390'000, 0}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "mystery");
  EXPECT_EQ(found->shortest, 1U);
  EXPECT_EQ(found->shortest_ns, 40'000);
  EXPECT_EQ(found->longest_ns, 400'000);
  EXPECT_EQ(found->excess_ns, 360'000 + 350'000);
}

TEST(WaitingKernels, AWaitThatIsSpreadOverManyKernelsIsSeenInAllOfThemTogether) {
  const auto found =
      Find({{600'000, 200'000, 10'000}, {704'000, 96'000, 10'000}, {610'000, 190'000, 10'000}}, Category::kCompute, 8);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "mystery");
  EXPECT_EQ(found->others, 7);
  EXPECT_EQ(found->shortest, 1U);
  EXPECT_EQ(found->excess_ns, 104'000 + 94'000);
}

// They wait for rank 1 in an all-reduce as well.
TEST(WaitingKernels, AWaitThatKnownCommunicationTakesAPartOfIsSeenByItsProportion) {
  const auto found = Find({{300'000, 200'000, 100'000}, {500'000, 80'000, 20'000}, {350'000, 170'000, 80'000}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shortest, 1U);
  EXPECT_EQ(found->excess_ns, 120'000 + 90'000);
  // Rank 2 is less in it than rank 0, and more in the all-reduce.
  EXPECT_FALSE(Find({{300'000, 200'000, 100'000}, {500'000, 80'000, 20'000}, {340'000, 140'000, 120'000}}));
}

// Ranks 0 and 1 wait for each other in it, and so do 2 and 3. All wait for rank 1 in known communication.
TEST(WaitingKernels, TheRanksThatWaitForEachOtherMayBePartsOfTheFleet) {
  const auto found = Find(
      {{300'000, 400'000, 10'000}, {660'000, 40'000, 10'000}, {300'000, 42'000, 360'000}, {303'000, 40'000, 358'000}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shortest, 1U);
  EXPECT_EQ(found->excess_ns, 360'000);
  EXPECT_DOUBLE_EQ(found->worst_ratio, 0.36);
}

// Nothing is known to connect the two pairs, and the second one is done earlier.
TEST(WaitingKernels, PartsOfTheFleetMayEndAtDifferentTimes) {
  const auto found =
      Find({{300'000, 400'000, 0}, {660'000, 40'000, 0}, {300'000, 42'000, 0, 350'000}, {302'000, 40'000, 0, 350'000}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shortest, 1U);
}

// Its own time and what the others wait for it in known communication add up: that is a slow kernel, in any part.
TEST(WaitingKernels, ASlowKernelIsNoWaitInAPartOfTheFleetEither) {
  EXPECT_FALSE(Find(
      {{300'000, 40'000, 360'000}, {300'000, 400'000, 0}, {300'000, 200'000, 200'000}, {300'000, 41'000, 359'000}}));
}

TEST(WaitingKernels, OnASlowDeviceEverythingTakesLonger) {
  EXPECT_FALSE(Find({{300'000, 100'000, 200'000}, {600'000, 200'000, 0}, {300'000, 100'000, 200'000}}));
}

TEST(WaitingKernels, WhereKnownCommunicationTakesUpTheDifferenceTheKernelDoesNotWait) {
  EXPECT_FALSE(Find({{300'000, 40'000, 360'000}, {300'000, 400'000, 0}, {300'000, 50'000, 350'000}}));
}

TEST(WaitingKernels, AKernelThatIsKnownToCommunicateIsNotTold) {
  EXPECT_FALSE(Find({{300'000, 400'000, 0}, {660'000, 40'000, 0}}, Category::kCommunication));
}

TEST(WaitingKernels, DifferencesAsDevicesOfOneKindHaveAreNoHint) {
  EXPECT_FALSE(Find({{300'000, 100'000, 0}, {310'000, 96'000, 0}, {305'000, 103'000, 0}}));
}

TEST(WaitingKernels, AWaitBesideALongTransferTellsWhereTheTimesComeOutEven) {
  const auto found = Find({{600'000, 300'000, 10'000}, {650'000, 250'000, 10'000}, {602'000, 298'000, 10'000}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "mystery");
  EXPECT_FALSE(Find({{600'000, 300'000, 10'000}, {650'000, 290'000, 10'000}, {602'000, 298'000, 10'000}}));
}

}  // namespace
}  // namespace lockstep
