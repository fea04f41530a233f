#include "analysis/report/empty_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/condense/selection.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

// Two ranks; rank 0 has the steps 3 and 4, rank 1 the steps 4 and 5, all ranges "send".
struct TwoRanks {
  explicit TwoRanks(AnalysisOptions asked, bool of_files = false) {
    for (const int32_t number : {0, 1}) {
      SourceBuilder& rank = builder.AddRank(number);
      rank.Kernel("k", {1});
      for (int64_t n = 0; n < 2; ++n) {
        rank.Step(3 + number + n, n * 100, (n + 1) * 100).name = builder.Name("send");
      }
      if (of_files) rank.context().options.emplace(kSelectedTables, "");
    }
    fixture.emplace(builder, std::move(asked));
    fixture->built().run.info.state = RunState::kComplete;
  }
  std::string Why() {
    const Fleet fleet = fixture->Make();
    const auto empty = FindEmptySelection(fleet);
    return empty ? empty->why : "";
  }
  absl::Status Check() {
    const Fleet fleet = fixture->Make();
    return CheckSelection(fleet);
  }

  RunBuilder builder;
  std::optional<FleetFixture> fixture;
};

AnalysisOptions Asked(std::optional<std::pair<int64_t, int64_t>> steps, std::string nvtx = "",
                      std::vector<int32_t> ranks = {}) {
  AnalysisOptions options;
  options.steps = steps;
  options.nvtx = std::move(nvtx);
  options.ranks = std::move(ranks);
  return options;
}

TEST(FindEmptySelection, IsNoneWhereARankHasAStepOfIt) {
  EXPECT_EQ(TwoRanks(Asked(std::nullopt)).Why(), "");
  EXPECT_EQ(TwoRanks(Asked({{5, 9}})).Why(), "");
  EXPECT_EQ(TwoRanks(Asked({{4, 4}}, "send")).Why(), "");
}

TEST(FindEmptySelection, SaysWhatThereIs) {
  EXPECT_EQ(TwoRanks(Asked({{100, 200}})).Why(), "no step is in 100..200; the traces have steps 3 to 5");
  EXPECT_EQ(TwoRanks(Asked({{7, 7}})).Why(), "there is no step 7; the traces have steps 3 to 5");
  EXPECT_EQ(TwoRanks(Asked({{5, 5}}, "", {0})).Why(), "there is no step 5; the traces have steps 3 to 4")
      << "of the ranks that are asked about";
  EXPECT_EQ(TwoRanks(Asked({{7, 9}}, "send")).Why(), "no step is in 7..9 of 'send'; the traces have steps 3 to 5");
  EXPECT_THAT(TwoRanks(Asked(std::nullopt, "receive")).Why(), HasSubstr("no range 'receive' launched anything"));
}

TEST(FindEmptySelection, SaysThatTheTracesMarkNoSteps) {
  TwoRanks unmarked(Asked({{1, 2}}));
  for (SourceData& source : unmarked.fixture->built().run.sources) source.steps.clear();
  EXPECT_THAT(unmarked.Why(), HasSubstr("mark no steps"));
}

TEST(CheckSelection, RefusesStepsThatARunDoesNotHave) {
  EXPECT_EQ(TwoRanks(Asked({{3, 3}})).Check(), absl::OkStatus());
  for (const bool of_files : {false, true}) {
    const absl::Status refused = TwoRanks(Asked({{100, 200}}), of_files).Check();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("the traces have steps 3 to 5"));
  }
}

TEST(CheckSelection, LeavesToANoticeWhatMayStillCome) {
  for (const bool of_files : {false, true}) {
    TwoRanks open(Asked({{100, 200}}), of_files);
    open.fixture->built().run.info.state = RunState::kOpen;
    EXPECT_EQ(open.Check().ok(), !of_files) << "files are read whole, whatever ranks are missing";
  }
  TwoRanks many(Asked({{40'000, 40'001}}), true);
  FileNote note;
  note.drops.Add(DropReason::kStepLimit, 1);
  many.fixture->built().run.files.push_back(note);
  EXPECT_EQ(many.Check(), absl::OkStatus()) << "its steps beyond the limit were not kept";
}

TEST(CheckSelection, LeavesToANoticeStepsThatLaunchedNothingAmongOthers) {
  TwoRanks gap(Asked({{4, 4}}), true);
  for (SourceData& source : gap.fixture->built().run.sources) {
    std::erase_if(source.steps, [](const StepRow& row) { return row.step == 4; });
  }
  EXPECT_EQ(gap.Check(), absl::OkStatus());
  EXPECT_EQ(gap.Why(), "nothing was launched in step 4; the traces have steps 3 to 5");
}

TEST(CheckSelection, RefusesRangesThatFilesDoNotHave) {
  EXPECT_TRUE(absl::IsInvalidArgument(TwoRanks(Asked(std::nullopt, "receive"), true).Check()));
  EXPECT_EQ(TwoRanks(Asked(std::nullopt, "receive")).Check(), absl::OkStatus())
      << "a stored run has only the ranges of its --step-range";
  EXPECT_TRUE(absl::IsInvalidArgument(TwoRanks(Asked({{7, 9}}, "send")).Check()));
}

absl::Status CheckLayoutOf(const std::string& layout, int32_t ranks, std::optional<int32_t> world = std::nullopt) {
  RankResolution resolved;
  for (int32_t rank = 0; rank < ranks; ++rank) resolved.ranks.push_back({.rank = rank});
  resolved.world_size = world;
  AnalysisOptions options;
  if (!layout.empty()) options.layout = ParallelLayout::Parse(layout).value();
  return CheckLayout(resolved, options);
}

TEST(CheckLayout, TakesAxesThatMakeTheRanks) {
  for (const char* layout : {"", "tp=8", "tp=4,pp=2", "tp=2,cp=2,dp=2", "tp=2,dp=4,ep=4,order=tp-dp"}) {
    EXPECT_EQ(CheckLayoutOf(layout, 8, 8), absl::OkStatus()) << layout;
  }
  EXPECT_EQ(CheckLayoutOf("tp=8,pp=8", 2, 64), absl::OkStatus()) << "traces of two ranks of 64";
  EXPECT_EQ(CheckLayoutOf("tp=16", 8), absl::OkStatus()) << "nobody says how many ranks there are";
}

TEST(CheckLayout, RefusesOthersAndSaysHowManyRanksThereAre) {
  const absl::Status three = CheckLayoutOf("tp=3", 8);
  EXPECT_TRUE(absl::IsInvalidArgument(three));
  EXPECT_EQ(three.message(), "--layout 'tp=3': its axes make 3 ranks, but the run has 8");
  EXPECT_FALSE(CheckLayoutOf("tp=16", 8, 8).ok());
  EXPECT_FALSE(CheckLayoutOf("tp=2147483647,pp=2147483647,dp=2147483647", 8, 8).ok());
  EXPECT_THAT(std::string(CheckLayoutOf("tp=2,dp=4,ep=4", 8, 8).message()), HasSubstr("order= names the axes"));
}

}  // namespace
}  // namespace lockstep
