#include "cli/timeline/kernel_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Ranks 0 to n - 1, all exported but `hidden`; tensor-parallel groups of four and one group of all.
RunEvents FleetOf(int32_t n, int32_t hidden = -1) {
  RunEvents events;
  Communicator all{.id = "all", .members = {}};
  for (int32_t rank = 0; rank < n; ++rank) {
    events.ranks.ranks.push_back({.rank = rank});
    events.places.push_back(rank == hidden ? kNoId : static_cast<uint32_t>(rank - (hidden >= 0 && rank > hidden)));
    all.members.push_back(rank);
  }
  events.match.communicators.push_back(all);
  for (int32_t rank = 0; rank + 3 < n; rank += 4) {
    events.match.communicators.push_back({.id = "tp", .members = {rank, rank + 1, rank + 2, rank + 3}});
  }
  return events;
}

TEST(KernelRanks, OfFewRanksAllAreShownTheNamedOneAndItsPeersFirst) {
  const NamedRanks named{.ranks = {5}, .labels = {}};
  EXPECT_THAT(KernelRanks(FleetOf(8), named, KernelsWanted::kCulprits), ElementsAre(5, 4, 6, 7, 3, 2, 1, 0));
}

TEST(KernelRanks, OfManyRanksTheNamedOnesAndAFewPeersAreShown) {
  const NamedRanks named{.ranks = {5, 9}, .labels = {}};
  EXPECT_THAT(KernelRanks(FleetOf(64), named, KernelsWanted::kCulprits), ElementsAre(5, 9, 4, 6, 7, 8, 10, 11));
}

TEST(KernelRanks, AHostOfNamedRanksDoesNotOutgrowTheFew) {
  NamedRanks named;
  for (int32_t rank = 0; rank < 40; ++rank) named.ranks.push_back(rank);
  EXPECT_THAT(KernelRanks(FleetOf(64), named, KernelsWanted::kCulprits), SizeIs(kFewRanks));
}

TEST(KernelRanks, WhereNobodyIsNamedTheFirstStandForAll) {
  EXPECT_THAT(KernelRanks(FleetOf(64), {}, KernelsWanted::kCulprits), ElementsAre(0, 1, 2, 3));
}

TEST(KernelRanks, AllAreAllAndNoneIsNone) {
  const NamedRanks named{.ranks = {63}, .labels = {}};
  const std::vector<uint32_t> all = KernelRanks(FleetOf(64), named, KernelsWanted::kAll);
  EXPECT_THAT(all, SizeIs(64));
  EXPECT_EQ(all.front(), 63U);
  EXPECT_THAT(KernelRanks(FleetOf(64), named, KernelsWanted::kNone), IsEmpty());
}

TEST(KernelRanks, ANamedRankThatIsNotSelectedIsPassedOver) {
  const NamedRanks named{.ranks = {5}, .labels = {}};
  EXPECT_THAT(KernelRanks(FleetOf(8, 5), named, KernelsWanted::kCulprits), SizeIs(7));
}

TEST(FittingRanks, KeepsTheFirstAndStopsAtTheLimit) {
  const std::vector<int64_t> counts = {100, 200, 300};
  EXPECT_EQ(FittingRanks({2, 0, 1}, counts, 450), 2U);
  EXPECT_EQ(FittingRanks({2, 0, 1}, counts, 600), 3U);
  EXPECT_EQ(FittingRanks({2, 0, 1}, counts, 0), 1U);
  EXPECT_EQ(FittingRanks({}, counts, 0), 0U);
}

}  // namespace
}  // namespace lockstep
