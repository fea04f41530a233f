#include "analysis/metrics/stragglers/positions.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

RankResolution Ranks(const std::vector<std::string>& hosts) {
  RankResolution ranks;
  for (size_t i = 0; i < hosts.size(); ++i) {
    ResolvedRank rank;
    rank.rank = static_cast<int32_t>(i);
    rank.host = hosts[i];
    ranks.ranks.push_back(rank);
  }
  return ranks;
}

MatchedInstance Between(uint32_t communicator, CollectiveOp op, const std::vector<int32_t>& ranks) {
  MatchedInstance instance;
  instance.communicator = communicator;
  instance.op = op;
  for (const int32_t rank : ranks) {
    MatchedMember member;
    member.rank_index = rank;
    instance.members.push_back(member);
  }
  return instance;
}

Positions PositionsOf(const RankResolution& ranks, const MatchResult& match, std::string_view layout) {
  PipelineLinks links;
  for (const MatchedInstance& instance : match.instances) {
    links.Add(instance, match.communicators[instance.communicator]);
  }
  if (layout.empty()) return FindPositions(ranks, match, links, std::nullopt);
  return FindPositions(ranks, match, links, ParallelLayout::Parse(layout).value());
}

TEST(FindPositions, CountsThePlaceOnEachHostAndLeavesUnknownHostsOut) {
  const Positions positions = PositionsOf(Ranks({"a", "b", "a", ""}), {}, "");
  ASSERT_EQ(positions.hosts.size(), 2u);
  EXPECT_EQ(positions.hosts[0].rank_indices, (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(positions.local_index, (std::vector<int32_t>{0, 0, 1, -1}));
  EXPECT_EQ(positions.host, (std::vector<int32_t>{0, 1, 0, -1}));
}

TEST(FindPositions, TwoMachinesOfOneNameAreTwoHosts) {
  MatchResult match;
  match.host_conflict = true;
  match.clock.SetDomain(0, DomainId{0});
  match.clock.SetDomain(1, DomainId{1});
  EXPECT_EQ(PositionsOf(Ranks({"a", "a"}), match, "").hosts.size(), 2u);
}

TEST(FindPositions, StagesFollowTheLayoutInItsOrder) {
  const RankResolution ranks = Ranks(std::vector<std::string>(8, "a"));
  EXPECT_EQ(PositionsOf(ranks, {}, "tp=2,pp=2,dp=2").stage, (std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(PositionsOf(ranks, {}, "tp=2,pp=2,dp=2,order=tp-pp-dp").stage,
            (std::vector<int32_t>{0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(FindPositions, ALayoutWithoutAPipelineHasNoStages) {
  EXPECT_EQ(PositionsOf(Ranks({"a", "a"}), {}, "tp=2").stage, (std::vector<int32_t>{-1, -1}));
  EXPECT_EQ(PositionsOf(Ranks({"a", "a"}), {}, "pp=2147483647,tp=2147483647").stage, (std::vector<int32_t>{-1, -1}));
}

// Kernels that may send or receive, as in traces without roles.
TEST(FindPositions, KernelsOfEitherRoleTellThePipelineWhereTheyAreNoExchangeOfAll) {
  const auto stages_of = [](int32_t group_size, bool with_others, bool one_lost = false) {
    MatchResult match;
    match.communicators.resize(2);
    for (Communicator& communicator : match.communicators) communicator.members.resize(static_cast<size_t>(group_size));
    match.instances = {Between(0, CollectiveOp::kSendRecv, {0, 2}), Between(1, CollectiveOp::kSendRecv, {1, 3})};
    if (one_lost) match.instances.push_back(Between(0, CollectiveOp::kSendRecv, {0}));
    if (with_others) {
      match.instances.push_back(Between(0, CollectiveOp::kAllReduce, {0, 2}));
      match.instances.push_back(Between(1, CollectiveOp::kAllReduce, {1, 3}));
    }
    return PositionsOf(Ranks(std::vector<std::string>(4, "a")), match, "").stage;
  };
  const std::vector<int32_t> two_stages = {0, 0, 1, 1};
  const std::vector<int32_t> none = {-1, -1, -1, -1};
  EXPECT_EQ(stages_of(2, false), two_stages);
  EXPECT_EQ(stages_of(2, true), none);  // an exchange of the two, as all-to-all of two experts
  EXPECT_EQ(stages_of(4, true), two_stages);
  EXPECT_EQ(stages_of(2, false, true), two_stages);
}

TEST(FindPositions, SendsAndReceivesTellThePipeline) {
  MatchResult match;
  match.communicators.resize(2);
  match.instances = {Between(0, CollectiveOp::kSend, {0, 2}), Between(1, CollectiveOp::kRecv, {1, 3})};
  EXPECT_EQ(PositionsOf(Ranks({"a", "a", "b", "b"}), match, "").stage, (std::vector<int32_t>{0, 0, 1, 1}));
}

TEST(FindPositions, PipelinesOfUnevenLengthTellNoStages) {
  MatchResult match;
  match.communicators.resize(1);
  match.instances = {Between(0, CollectiveOp::kSend, {0, 1})};
  EXPECT_EQ(PositionsOf(Ranks({"a", "a", "b"}), match, "").stage, (std::vector<int32_t>{-1, -1, -1}));
}

}  // namespace
}  // namespace lockstep
