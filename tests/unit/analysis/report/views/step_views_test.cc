#include "analysis/report/json.h"
#include "analysis/report/views/views.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

// One rank of so many steps of 100 ns, as its views see it.
struct Seen {
  explicit Seen(int64_t steps, AnalysisOptions asked = {}) : options(std::move(asked)) {
    SourceBuilder& rank = builder.AddRank(0);
    for (int64_t step = 0; step < steps; ++step) {
      StepRow& row = rank.Step(step, step * 100, (step + 1) * 100);
      row.tile.compute_ns = 60;
      row.tile.idle_host_ns = 30;
      row.tile.idle_other_ns = 10;
      row.kernel_time_ns = 50;
      row.forward_ns = 20;
      row.backward_ns = 30;
    }
    rank.Window(0, steps * 100);
  }
  Json Steps() {
    FleetFixture fixture(builder, options);
    const FleetMeasures measures = fixture.Measure();
    const Fleet fleet = fixture.Make();
    InlineExecutor executor;
    const AnalysisContext context{
        fleet.run, fixture.built().instances, fixture.options, fixture.ranks, fixture.match, executor, 0, {true},
        notices};
    return report::ToJson(StepsView({context, fleet, measures}));
  }

  AnalysisOptions options;
  RunBuilder builder;
  std::vector<Notice> notices;
};

TEST(StepsView, TellsTheBudgetAndThePhasesOfAStep) {
  const Json step = Seen(1).Steps().at(0);
  EXPECT_DOUBLE_EQ(step["budget"]["busy_ratio"].get<double>(), 0.6);
  EXPECT_DOUBLE_EQ(step["budget"]["host_gap_ratio"].get<double>(), 0.3);
  EXPECT_DOUBLE_EQ(step["budget"]["communication_ratio"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(step["phases"]["forward_ratio"].get<double>(), 0.4);
  EXPECT_DOUBLE_EQ(step["phases"]["backward_ratio"].get<double>(), 0.6);
  EXPECT_TRUE(step["why"].is_null()) << "nothing slow about it";
}

TEST(StepsView, ShowsABoundedNumberOfRowsAndSaysSo) {
  Seen many(25'000);
  EXPECT_EQ(many.Steps().size(), 20'000U);
  ASSERT_EQ(many.notices.size(), 1U);
  EXPECT_NE(many.notices[0].reason.find("25000 rows"), std::string::npos);
  AnalysisOptions asked;
  asked.limit = 24'000;
  EXPECT_EQ(Seen(25'000, asked).Steps().size(), 24'000U);
}

TEST(StepsView, OfATraceWithoutDeviceActivitySaysThatNothingRanAndNotThatNoStepIsMarked) {
  Seen host_only(0);
  EXPECT_TRUE(host_only.Steps().empty());
  ASSERT_EQ(host_only.notices.size(), 1U);
  EXPECT_NE(host_only.notices[0].reason.find("nothing ran on a device"), std::string::npos);
  Seen unmarked(0);
  unmarked.builder.Source(0).Kernel("k", {1});
  EXPECT_TRUE(unmarked.Steps().empty());
  EXPECT_NE(unmarked.notices[0].reason.find("mark no steps"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
