#include "analysis/metrics/match/clock_input.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr int64_t kCount = 10'000;
constexpr size_t kMost = 100;

// Two ranks, joined all alike.
CommunicatorJoin JoinOf(MatchKind kind) {
  CommunicatorJoin out;
  for (int64_t i = 0; i < kCount; ++i) {
    JoinedInstance joined;
    joined.instance.op = CollectiveOp::kAllReduce;
    joined.instance.kind = kind;
    joined.instance.confidence = 1;
    joined.place = static_cast<size_t>(i);
    for (const int32_t rank : {0, 1}) {
      MatchedMember member;
      member.rank_index = rank;
      member.row = i;
      member.start_ns = i * 1'000;
      member.end_ns = i * 1'000 + 500;
      joined.instance.members.push_back(member);
    }
    out.instances.push_back(std::move(joined));
  }
  return out;
}

size_t TakenOf(MatchKind kind, const std::vector<int32_t>& domains) {
  ClockInputBuilder input(domains, std::vector<RankRows>(2));
  input.Add(0, JoinOf(kind), {}, kMost);
  return input.input().instances.size();
}

TEST(ClockInput, OfWhatClocksCannotRefuteAFewInstancesAreEnough) {
  for (const auto& [kind, domains] :
       {std::pair{MatchKind::kId, std::vector{0, 1}}, std::pair{MatchKind::kId, std::vector{0, 0}},
        std::pair{MatchKind::kInferred, std::vector{0, 0}}}) {
    EXPECT_GT(TakenOf(kind, domains), kMost / 2);
    EXPECT_LT(TakenOf(kind, domains), kMost * 2);
  }
}

TEST(ClockInput, WhatClocksMayRefuteIsTakenWhole) {
  EXPECT_EQ(TakenOf(MatchKind::kInferred, {0, 1}), static_cast<size_t>(kCount));
  EXPECT_EQ(TakenOf(MatchKind::kOrder, {0, 1}), static_cast<size_t>(kCount));
}

}  // namespace
}  // namespace lockstep
