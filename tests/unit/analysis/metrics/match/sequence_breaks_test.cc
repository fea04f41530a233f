#include <gtest/gtest.h>

#include "analysis/metrics/match/sequence_breaks.h"

namespace lockstep {
namespace {

MatchedInstance Meet(int64_t at_ns, const std::vector<int32_t>& ranks) {
  MatchedInstance instance;
  instance.in_sequence = true;
  for (const int32_t rank : ranks) {
    MatchedMember member;
    member.rank_index = rank;
    member.start_ns = at_ns;
    instance.members.push_back(member);
  }
  return instance;
}

TEST(BreakFinder, TellsWhatFindBreaksTellsOfTheWhole) {
  std::vector<MatchedInstance> instances;
  for (int64_t i = 0; i < 40; ++i) {
    std::vector<int32_t> ranks = {0};
    if (i < 10 || i >= 17) ranks.push_back(1);
    if (i % 9 != 4) ranks.push_back(2);
    instances.push_back(Meet(i * 100, ranks));
  }
  std::vector<const MatchedInstance*> all;
  BreakFinder finder;
  for (const MatchedInstance& instance : instances) {
    all.push_back(&instance);
    finder.Add(instance);
  }
  const std::vector<SequenceBreak> whole = FindBreaks(0, {0, 1, 2}, all);
  const std::vector<SequenceBreak> found = finder.Finish();
  ASSERT_EQ(found.size(), whole.size());
  ASSERT_GE(whole.size(), 4u);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(found[i].rank_index, whole[i].rank_index);
    EXPECT_EQ(found[i].at_ns, whole[i].at_ns);
    EXPECT_EQ(found[i].missing, whole[i].missing);
    EXPECT_EQ(found[i].at_edge, whole[i].at_edge);
  }
}

TEST(BreakFinder, WhereNothingIsJoinedNothingBreaks) {
  BreakFinder finder;
  for (int64_t i = 0; i < 20; ++i) finder.Add(Meet(i, {static_cast<int32_t>(i % 2)}));
  EXPECT_TRUE(finder.Finish().empty());
}

}  // namespace
}  // namespace lockstep
