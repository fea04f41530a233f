#include "analysis/report/views/selection_notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/condense/selection.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// One rank of two ranges "send", as it was condensed.
struct Selected {
  explicit Selected(AnalysisOptions asked) : options(std::move(asked)) {
    SourceBuilder& rank = builder.AddRank(0);
    rank.Kernel("k", {1});
    for (int64_t n = 0; n < 2; ++n) rank.Step(n, n * 100, (n + 1) * 100).name = builder.Name("send");
    rank.Window(0, 200);
  }
  SourceBuilder& FromFiles() {
    builder.Source(0).context().options.emplace(kSelectedTables, "");
    return builder.Source(0);
  }
  void AddRange(const std::string& domain) {
    RangeRow row;
    row.name = builder.Name("send");
    row.domain = builder.Name(domain);
    builder.Source(0).data().ranges.push_back(row);
  }
  std::vector<std::string> Told(const std::vector<FileNote>& files = {},
                                const std::vector<std::string>& views = {"summary"}) {
    FleetFixture fixture(builder, options);
    fixture.built().run.files = files;
    const FleetMeasures measures = fixture.Measure();
    const Fleet fleet = fixture.Make();
    InlineExecutor executor;
    std::vector<Notice> notices;
    const AnalysisContext context{
        fleet.run, fixture.built().instances, fixture.options, fixture.ranks, fixture.match, executor, 0, {true},
        notices};
    NotifyOfSelection({context, fleet, measures}, views);
    std::vector<std::string> told;
    for (const Notice& notice : notices) told.push_back(notice.view + ": " + notice.reason);
    return told;
  }

  AnalysisOptions options;
  RunBuilder builder;
};

AnalysisOptions Nvtx(std::string name) {
  AnalysisOptions options;
  options.nvtx = std::move(name);
  return options;
}

AnalysisOptions Steps(int64_t first, int64_t last) {
  AnalysisOptions options;
  options.steps = {first, last};
  return options;
}

TEST(SelectionNotices, SayNothingWhereAllIsAsItWasAskedFor) {
  EXPECT_THAT(Selected(AnalysisOptions()).Told(), IsEmpty());
  EXPECT_THAT(Selected(Steps(0, 1)).Told(), IsEmpty());
  Selected of_files(Nvtx("send"));
  of_files.FromFiles();
  EXPECT_THAT(of_files.Told(), IsEmpty());
}

TEST(SelectionNotices, SayHowManyActivitiesOfFilesAreInNoRangeForWantOfALaunch) {
  Selected selected(Nvtx("send"));
  selected.FromFiles().data().summary.drops.Add(DropReason::kMissingLaunch, 17);
  EXPECT_THAT(selected.Told(), ElementsAre(HasSubstr("17 kernels and copies have no launch call")));
}

TEST(SelectionNotices, SayWhatARangeOfAStoredRunHolds) {
  Selected selected(Nvtx("send"));
  selected.builder.Source(0).context().options.emplace(kStepRange, "send");
  EXPECT_THAT(selected.Told(), ElementsAre(testing::AllOf(HasSubstr("stored with --step-range 'send'"),
                                                          HasSubstr("threads without such ranges"))));
}

TEST(SelectionNotices, SayWhereTheDomainsOfAStoredRunCannotBeToldApart) {
  Selected selected(Nvtx("A:send"));
  selected.AddRange("A");
  selected.AddRange("B");
  EXPECT_THAT(selected.Told(), ElementsAre(testing::_, HasSubstr("several domains")));
  selected.builder.Source(0).context().options.emplace(kStepRange, "A:send");
  EXPECT_THAT(selected.Told(), ElementsAre(HasSubstr("--step-range 'A:send'"))) << "condensed by that domain";
}

TEST(SelectionNotices, SayThatNoSuchRangeLaunchedAnything) {
  Selected selected(Nvtx("receive"));
  selected.FromFiles();
  EXPECT_THAT(selected.Told(), ElementsAre(HasSubstr("no range 'receive' launched anything")));
  EXPECT_THAT(Selected(Steps(7, 9)).Told(), ElementsAre(HasSubstr("the traces have steps 0 to 1")));
}

TEST(SelectionNotices, SayWhereStepsRunInterleaved) {
  Selected selected(Steps(1, 1));
  selected.builder.Source(0).Step(2, 200, 300);
  selected.builder.Source(0).data().steps[0].last_end_ns = 250;
  EXPECT_THAT(selected.Told(), ElementsAre(HasSubstr("steps of rank 0 run interleaved")));
}

TEST(SelectionNotices, BlameTheLimitOfStepsForStepsAlone) {
  FileNote file;
  file.drops.Add(DropReason::kKeyLimit, 1'000);  // names of calls, launches, groups: no step is lost
  EXPECT_THAT(Selected(Steps(0, 1)).Told({file}), IsEmpty());
  file.drops.Add(DropReason::kStepLimit, 3);
  EXPECT_THAT(Selected(Steps(0, 1)).Told({file}), ElementsAre(HasSubstr("3 steps or ranges are beyond")));
  EXPECT_THAT(Selected(AnalysisOptions()).Told({file}), IsEmpty()) << "no steps were asked for";
}

TEST(SelectionNotices, SayWhichViewsAreOfTheTimeWhateverTheStep) {
  AnalysisOptions options = Steps(0, 1);
  options.time_ns = {0, 150};
  Selected selected(options);
  EXPECT_THAT(selected.Told({}, {"summary", "kernels", "idle"}),
              UnorderedElementsAre("summary: with --time the intervals cover that time, whatever the step",
                                   "idle: with --time the intervals cover that time, whatever the step"));
}

TEST(SelectionNotices, SayThatATimeSelectsNothingAndWhichRanksAreAbsent) {
  AnalysisOptions options;
  options.time_ns = {1'000, 2'000};
  EXPECT_THAT(Selected(options).Told(), ElementsAre(HasSubstr("--time selects nothing")));
  AnalysisOptions ranks;
  ranks.ranks = {0, 5};
  EXPECT_THAT(Selected(ranks).Told(), ElementsAre(HasSubstr("no trace of rank 5")));
}

}  // namespace
}  // namespace lockstep
