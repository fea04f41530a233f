#include "analysis/report/analysis_context.h"
#include "analysis/model/row_values.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

// Two ranks of three collectives each. Every one is launched in a range "send" of its rank, but rank 1 has an empty one
// in front, so that its numbers are one higher; the last collective of both is launched in "other".
struct Ranges {
  explicit Ranges(AnalysisOptions asked) {
    for (const int32_t number : {0, 1}) {
      SourceBuilder& rank = builder.AddRank(number);
      const uint32_t group = rank.Group("0", {0, 1});
      for (int64_t n = 0; n < 3; ++n) {
        rank.Step(n + number, n * 100, (n + 1) * 100).name = builder.Name(n == 2 ? "other" : "send");
        rank.Collective(group, CollectiveOp::kAllReduce, n * 100, 50).step = n + number;
      }
    }
    fixture.emplace(builder, std::move(asked));
    for (int32_t n = 0; n < 3; ++n) {
      MatchedInstance instance;
      instance.step = kNoStep;  // the ranks' numbers differ
      for (const int32_t rank : {0, 1}) {
        MatchedMember member;
        member.rank_index = rank;
        member.row = n;
        member.start_ns = n * 100;
        instance.members.push_back(member);
      }
      fixture->match.instances.push_back(instance);
    }
  }
  std::vector<bool> Selected() {
    const Fleet fleet = fixture->Make();
    const auto range_rows = RangeRows(fleet, fixture->built().instances);
    EXPECT_TRUE(range_rows.ok());
    InlineExecutor executor;
    std::vector<Notice> notices;
    const AnalysisContext context{fleet.run,
                                  fixture->built().instances,
                                  fixture->options,
                                  fixture->ranks,
                                  fixture->match,
                                  executor,
                                  0,
                                  SelectedRanks(fixture->ranks, fixture->options),
                                  notices,
                                  {},
                                  *range_rows};
    std::vector<bool> selected;
    for (const MatchedInstance& instance : fixture->match.instances) selected.push_back(Selects(context, instance));
    return selected;
  }

  RunBuilder builder;
  std::optional<FleetFixture> fixture;
};

TEST(Selects, ACollectiveByTheRangeThatEachMemberWasLaunchedInOnItsOwnRank) {
  AnalysisOptions options;
  options.nvtx = "send";
  EXPECT_EQ(Ranges(options).Selected(), (std::vector<bool>{true, true, false}));
  options.nvtx = "other";
  EXPECT_EQ(Ranges(options).Selected(), (std::vector<bool>{false, false, true}));
  options.nvtx = "neither";
  EXPECT_EQ(Ranges(options).Selected(), (std::vector<bool>{false, false, false}));
}

TEST(Selects, ACollectiveByTheNumberOfTheRangeOnAnyRankThatIsAskedFor) {
  AnalysisOptions options;
  options.nvtx = "send";
  options.steps = {2, 2};  // the second one of rank 1
  EXPECT_EQ(Ranges(options).Selected(), (std::vector<bool>{false, true, false}));
  options.ranks = {0};
  EXPECT_EQ(Ranges(options).Selected(), (std::vector<bool>{false, false, false}));
}

TEST(Selects, WithoutARangeByTheStepThatTheMembersShare) {
  AnalysisOptions options;
  options.steps = {0, 3};
  EXPECT_EQ(Ranges(options).Selected(), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(Ranges(AnalysisOptions()).Selected(), (std::vector<bool>{true, true, true}));
}

}  // namespace
}  // namespace lockstep
