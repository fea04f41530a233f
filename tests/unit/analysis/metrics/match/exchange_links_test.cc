#include "analysis/metrics/match/lanes/exchange_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;

// Lanes of a pipeline of `stages` with `width` parallel chains: lane = stage * width + chain. The ends of a pair lie
// within `jitter_ns`, those of parallel chains within `apart_ns`.
std::vector<ExchangeLane> Chains(size_t stages, size_t width, int64_t jitter_ns, int64_t apart_ns, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint64_t>(limit)); };
  std::vector<ExchangeLane> lanes(stages * width);
  for (size_t l = 0; l < lanes.size(); ++l) lanes[l].rank_index = static_cast<int32_t>(l);
  int64_t t = 0;
  for (int round = 0; round < 120; ++round) {
    for (size_t s = 0; s + 1 < stages; ++s) {
      t += 400'000 + below(300'000);
      for (size_t c = 0; c < width; ++c) {
        const int64_t end = t + below(apart_ns);
        for (const size_t l : {s * width + c, (s + 1) * width + c}) {
          const int64_t own = end + below(jitter_ns);
          lanes[l].events.push_back({own - 300'000, own, 0});
        }
      }
    }
  }
  return lanes;
}

Pairs PairsOf(const std::vector<ExchangeLink>& links) {
  Pairs out;
  for (const ExchangeLink& link : links) out.emplace_back(link.a, link.b);
  return out;
}

TEST(ExchangeLinks, AChainIsFoundStageByStage) {
  EXPECT_EQ(PairsOf(FindExchangeLinks(Chains(4, 1, 2'000, 1, 1))), (Pairs{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(ExchangeLinks, ParallelChainsAreNotMixedUp) {
  EXPECT_EQ(PairsOf(FindExchangeLinks(Chains(3, 2, 2'000, 40'000, 2))), (Pairs{{0, 2}, {1, 3}, {2, 4}, {3, 5}}));
}

TEST(ExchangeLinks, ChainsThatEndAsCloselyAsPairsLeaveThePartnerOpenWhereNoGroupIsKnown) {
  EXPECT_TRUE(FindExchangeLinks(Chains(2, 2, 2'000, 1'000, 3)).empty());
}

// Each stage of so many lanes is a group, but the last ones lack their last member.
void FormGroups(size_t width, size_t whole, std::vector<ExchangeLane>& lanes) {
  for (size_t l = 0; l < lanes.size(); ++l) {
    const size_t stage = l / width;
    lanes[l].place = {static_cast<int32_t>(stage), static_cast<int32_t>(l % width), stage < whole ? width : width - 1};
  }
}

TEST(ExchangeLinks, GroupsWhoseRanksAllSendAtOneMomentPairInOrder) {
  std::vector<ExchangeLane> lanes = Chains(3, 4, 2'000, 1'000, 3);
  FormGroups(4, 3, lanes);
  EXPECT_EQ(PairsOf(FindExchangeLinks(lanes)),
            (Pairs{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {4, 8}, {5, 9}, {6, 10}, {7, 11}}));
}

TEST(ExchangeLinks, GroupsThatLackAMemberHaveNoOrderInCommon) {
  std::vector<ExchangeLane> lanes = Chains(2, 4, 2'000, 1'000, 3);
  FormGroups(4, 1, lanes);
  EXPECT_TRUE(FindExchangeLinks(lanes).empty());
}

TEST(ExchangeLinks, WhoEndsCloserThanTheRestIsThePartnerWhateverItsPlace) {
  std::vector<ExchangeLane> lanes = Chains(2, 2, 2'000, 40'000, 2);
  FormGroups(2, 2, lanes);
  std::swap(lanes[2], lanes[3]);
  lanes[2].rank_index = 2;
  lanes[3].rank_index = 3;
  std::swap(lanes[2].place, lanes[3].place);
  EXPECT_EQ(PairsOf(FindExchangeLinks(lanes)), (Pairs{{0, 3}, {1, 2}}));
}

TEST(ExchangeLinks, LinksBetweenGroupsAreThoseOfStages) {
  std::vector<ExchangeLane> lanes = Chains(2, 2, 2'000, 40'000, 2);
  const std::vector<ExchangeLink> links = FindExchangeLinks(lanes);
  ASSERT_EQ(links.size(), 2u);
  EXPECT_FALSE(LinkStages(lanes, links)) << "no group is known";
  FormGroups(2, 2, lanes);
  EXPECT_TRUE(LinkStages(lanes, links));
  lanes[2].place.group = lanes[0].place.group;
  EXPECT_FALSE(LinkStages(lanes, links)) << "two of one tensor group";
}

TEST(ExchangeLinks, LanesOnClocksThatNothingConnectsAreNotCompared) {
  std::vector<ExchangeLane> lanes = Chains(2, 1, 2'000, 1, 4);
  lanes[1].component = 1;
  EXPECT_TRUE(FindExchangeLinks(lanes).empty());
}

TEST(ExchangeLinks, RowsThatNobodyAnswersLowerTheShare) {
  std::vector<ExchangeLane> lanes = Chains(3, 1, 2'000, 1, 5);
  const std::vector<ExchangeLane> without_last(lanes.begin(), lanes.begin() + 2);
  EXPECT_NEAR(LinkedShare(lanes, FindExchangeLinks(lanes), 1), 1, 0.01);
  EXPECT_LT(LinkedShare(without_last, FindExchangeLinks(without_last), 1), 0.6);
}

TEST(ExchangeLinks, ConnectedLanesAreTheChains) {
  const std::vector<ExchangeLink> links = FindExchangeLinks(Chains(3, 2, 2'000, 40'000, 6));
  EXPECT_THAT(ConnectedLanes(7, links),
              testing::ElementsAre(testing::ElementsAre(0, 2, 4), testing::ElementsAre(1, 3, 5)));
}

// Rounds of one exchange of all lanes: each ends with its own part after the last one has started.
std::vector<ExchangeLane> OneExchange(const std::vector<int64_t>& parts_ns, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<ExchangeLane> lanes(parts_ns.size());
  for (int64_t round = 0; round < 60; ++round) {
    std::vector<int64_t> starts;
    for (size_t l = 0; l < lanes.size(); ++l)
      starts.push_back(round * 500'000 + static_cast<int64_t>(random() % 100'000));
    const int64_t last = *std::max_element(starts.begin(), starts.end());
    for (size_t l = 0; l < lanes.size(); ++l) {
      lanes[l].rank_index = static_cast<int32_t>(l);
      lanes[l].events.push_back({starts[l], last + parts_ns[l], 0});
    }
  }
  return lanes;
}

TEST(ExchangeLinks, WhatAllLanesAreInAtOnceMayBeOneExchange) {
  // Those with equal parts end together, as pairs do.
  EXPECT_TRUE(MayBeOneExchange(OneExchange({20'000, 60'000, 20'000, 60'000}, 7)));
}

TEST(ExchangeLinks, PairsThatRunApartAreNoExchangeOfAll) {
  std::vector<ExchangeLane> lanes = OneExchange({20'000, 20'000}, 8);
  for (ExchangeLane lane : OneExchange({20'000, 20'000}, 9)) {
    lane.rank_index += 2;
    lanes.push_back(lane);
  }
  EXPECT_FALSE(MayBeOneExchange(lanes));
}

}  // namespace
}  // namespace lockstep
