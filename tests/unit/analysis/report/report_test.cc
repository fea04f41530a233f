#include "analysis/base/executor.h"
#include "analysis/model/instance_row.h"
#include "analysis/report/json.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/condense/selection.h"
#include "analysis/report/views/run_object.h"
#include "platform/executor.h"
#include "tests/support/run_builder.h"

namespace lockstep {
namespace {

// Two ranks of one host in two steps of 1 ms; rank 1 computes 200 us longer before each all-reduce.
void BuildTwoRanks(RunBuilder& run) {
  for (const int32_t number : {0, 1}) {
    auto& rank = run.AddRank(number).World(2);
    const uint32_t world = rank.Group("0", {0, 1}, "default_pg");
    rank.Kernel("gemm_kernel", std::vector<int64_t>(20, 20'000 + number * 10'000));
    for (int64_t n = 0; n < 2; ++n) {
      const int64_t compute = 400'000 + number * 200'000;
      InstanceRow& instance =
          rank.Collective(world, CollectiveOp::kAllReduce, n * 1'000'000 + compute, 700'000 - compute);
      instance.seq = n;
      instance.step = n;
      instance.bytes = 1'024;
      StepRow& step = rank.Step(n, n * 1'000'000, (n + 1) * 1'000'000);
      step.tile.compute_ns = compute;
      step.tile.comm_ns = 700'000 - compute;
      step.tile.strict_exposed_comm_ns = 700'000 - compute;
      step.tile.idle_host_ns = 300'000;
      step.first_start_ns = n * 1'000'000;
      step.last_end_ns = n * 1'000'000 + 700'000;
      step.kernels = 11;
      step.launches = 11;
      step.collectives = 1;
      step.collective_time_ns = 700'000 - compute;
      step.collective_max_ns = 700'000 - compute;
    }
    rank.Kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", std::vector<int64_t>(2, 300'000 - number * 200'000));
    rank.Window(0, 2'000'000);
    rank.context().classifier_version = kClassifierVersion;
  }
}

absl::StatusOr<Json> Report(AnalysisOptions options) {
  RunBuilder builder;
  BuildTwoRanks(builder);
  BuiltRun built = builder.Build();
  InlineExecutor executor;
  return BuildReport(built.run, built.instances, options, executor);
}

// Each view as a report of its own, in the order in which they come.
std::vector<std::pair<std::string, std::string>> EachReport(const AnalysisOptions& options, Executor& executor) {
  RunBuilder builder;
  BuildTwoRanks(builder);
  BuiltRun built = builder.Build();
  std::vector<std::pair<std::string, std::string>> out;
  const absl::Status done =
      BuildReports(built.run, built.instances, options, executor,
                   [&](const std::string& view, std::string text) { out.emplace_back(view, std::move(text)); });
  EXPECT_EQ(done, absl::OkStatus());
  return out;
}

AnalysisOptions OptionsFor(std::vector<std::string> views) {
  AnalysisOptions options;
  options.views = std::move(views);
  return options;
}

TEST(Report, HoldsOnlyTheViewsAskedFor) {
  const auto report = Report(OptionsFor({"overlap", "idle"}));
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<std::string> keys;
  for (const auto& [key, value] : report->items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "notices", "run", "overlap", "idle"}));
  EXPECT_EQ((*report)["schema"], "lockstep.report/1");
}

TEST(Report, EachViewOfItsOwnIsWhatItIsAloneAndComesInOrder) {
  InlineExecutor executor;
  const auto each = EachReport(OptionsFor({"all"}), executor);
  ASSERT_EQ(each.size(), AllViews().size());
  for (size_t i = 0; i < each.size(); ++i) {
    EXPECT_EQ(each[i].first, AllViews()[i]);
    EXPECT_EQ(each[i].second, RenderJson(Report(OptionsFor({AllViews()[i]})).value()));
  }
}

TEST(Report, EachViewOfItsOwnIsTheSameWhateverTheOrderInWhichTheyAreBuilt) {
  InlineExecutor forward;
  InlineExecutor backward(/*reversed=*/true);
  ThreadPool threads(4);
  const auto each = EachReport(OptionsFor({"all"}), forward);
  EXPECT_EQ(EachReport(OptionsFor({"all"}), backward), each);
  EXPECT_EQ(EachReport(OptionsFor({"all"}), threads), each);
}

// What views tell of themselves stands in the order of the views.
TEST(Report, IsTheSameWhateverTheOrderInWhichItsViewsAreBuilt) {
  RunBuilder builder;
  BuildTwoRanks(builder);
  BuiltRun built = builder.Build();
  InlineExecutor forward;
  InlineExecutor backward(/*reversed=*/true);
  ThreadPool threads(4);
  const AnalysisOptions options = OptionsFor(AllViews());
  const Json report = BuildReport(built.run, built.instances, options, forward).value();
  EXPECT_GT(report["notices"].size(), 1u);
  EXPECT_EQ(BuildReport(built.run, built.instances, options, backward).value(), report);
  EXPECT_EQ(BuildReport(built.run, built.instances, options, threads).value(), report);
}

TEST(Report, AcceptsEveryViewAndGivesNoneAsNull) {
  const auto report = Report(OptionsFor(AllViews()));
  ASSERT_TRUE(report.ok()) << report.status();
  for (const std::string& view : AllViews()) {
    ASSERT_TRUE(report->contains(view)) << view;
    EXPECT_TRUE((*report)[view].is_structured()) << view;
  }
}

TEST(Report, RefusesAnUnknownView) {
  EXPECT_EQ(Report(OptionsFor({"colours"})).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Report, RefusesRanksThatAreNotThere) {
  AnalysisOptions options = OptionsFor({"summary"});
  options.ranks = {17};
  EXPECT_EQ(Report(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Report, GivesTheSameBytesInAnyOrderOfExecution) {
  RunBuilder builder;
  BuildTwoRanks(builder);
  BuiltRun built = builder.Build();
  InlineExecutor forward;
  InlineExecutor backward(true);
  const auto a = BuildReport(built.run, built.instances, OptionsFor(AllViews()), forward);
  const auto b = BuildReport(built.run, built.instances, OptionsFor(AllViews()), backward);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(RenderJson(*a), RenderJson(*b));
}

TEST(Report, SplitsTheExposedCommunicationOfEveryRankExactly) {
  const auto report = Report(OptionsFor({"overlap", "steps"}));
  ASSERT_TRUE(report.ok()) << report.status();
  for (const char* view : {"overlap", "steps"}) {
    for (const Json& row : (*report)[view]) {
      const auto ns = [&](const char* key) { return row[key].get<int64_t>(); };
      EXPECT_EQ(ns("exposed_wait_ns") + ns("exposed_transfer_ns") + ns("exposed_unresolved_ns"), ns("exposed_comm_ns"));
      EXPECT_EQ(ns("compute_ns") + ns("exposed_comm_ns") + ns("copy_only_ns") + ns("opaque_only_ns") + ns("idle_ns"),
                ns("span_ns"));
    }
  }
}

TEST(Report, FindsThatRankZeroWaitsForRankOne) {
  const auto report = Report(OptionsFor({"summary", "overlap"}));
  ASSERT_TRUE(report.ok()) << report.status();
  const Json& culprits = (*report)["summary"]["culprits"];
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ(culprits[0]["id"], "1");
  EXPECT_EQ(culprits[0]["caused_wait_total_ns"], 400'000);
  EXPECT_EQ(culprits[0]["cause"], "slow_compute");
  EXPECT_EQ((*report)["overlap"][0]["exposed_wait_ns"], 400'000);
  EXPECT_EQ((*report)["overlap"][0]["exposed_transfer_ns"], 200'000);
}

TEST(Report, OfAnOpenRunSaysWhichStepsThereAreWhenNoneIsSelected) {
  AnalysisOptions options = OptionsFor({"overlap"});
  options.steps = {8, 9};
  const auto report = Report(options);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ((*report)["notices"].size(), 1u);
  EXPECT_EQ((*report)["notices"][0]["reason"], "no step is in 8..9; the traces have steps 0 to 1");
  EXPECT_EQ((*report)["overlap"][0]["span_ns"], 0);
}

TEST(Report, OfACompleteRunIsRefusedWhereItCannotBeOfWhatIsAskedFor) {
  RunBuilder builder;
  BuildTwoRanks(builder);
  BuiltRun built = builder.Build();
  built.run.info.state = RunState::kComplete;
  InlineExecutor executor;
  AnalysisOptions steps = OptionsFor({"overlap"});
  steps.steps = {8, 9};
  AnalysisOptions layout = OptionsFor({"overlap"});
  layout.layout = ParallelLayout{.sizes = {{ParallelAxis::kTensor, 3}}, .order = {}};
  for (const AnalysisOptions& options : {steps, layout}) {
    EXPECT_TRUE(absl::IsInvalidArgument(BuildReport(built.run, built.instances, options, executor).status()));
  }
}

// What the notices of these two ranks say of a view; `change` alters them first.
template <typename Change>
std::string Told(const AnalysisOptions& options, std::string_view view, const Change& change) {
  RunBuilder builder;
  BuildTwoRanks(builder);
  for (const size_t n : {0, 1}) builder.Source(n).context().bucket_ns = 65'536;
  change(builder);
  BuiltRun built = builder.Build();
  InlineExecutor executor;
  const auto report = BuildReport(built.run, built.instances, options, executor);
  EXPECT_TRUE(report.ok()) << report.status();
  std::string told;
  for (const Json& notice : (*report)["notices"]) {
    if (notice["view"] == view) told += notice["reason"].get<std::string>() + "\n";
  }
  return told;
}

TEST(Report, TheSummarySaysOfWhichStepsItIsWhereARankLacksSome) {
  AnalysisOptions options = OptionsFor({"summary"});
  options.steps = {0, 1};
  EXPECT_EQ(Told(options, "summary", [](RunBuilder&) {}).find("over the steps"), std::string::npos);
  const auto lacks_the_first = [](RunBuilder& run) {
    std::vector<StepRow>& steps = run.Source(1).data().steps;
    steps.erase(steps.begin());
  };
  EXPECT_NE(Told(options, "summary", lacks_the_first).find("over the steps 1..1"), std::string::npos);
}

TEST(Report, TheSummarySpeaksOfBucketsOnlyWhereItIsMadeOfThem) {
  AnalysisOptions options = OptionsFor({"summary"});
  options.time_ns = {0, 1'000'000};
  EXPECT_NE(Told(options, "summary", [](RunBuilder&) {}).find("over whole buckets"), std::string::npos);
  const auto of_files = [](RunBuilder& run) {
    for (const size_t n : {0, 1}) run.Source(n).context().options.emplace(kSelectedTables, "");
  };
  EXPECT_EQ(Told(options, "summary", of_files), "");
  options.steps = {0, 0};  // and a time: of the time
  const std::string told = Told(options, "summary", of_files);
  EXPECT_EQ(told.find("buckets"), std::string::npos) << told;
  EXPECT_NE(told.find("cover that time, whatever the step"), std::string::npos) << told;
}

TEST(Report, NamesWhatWasRestricted) {
  AnalysisOptions options = OptionsFor({"overlap"});
  options.steps = {1, 1};
  options.ranks = {1};
  const auto report = Report(options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ((*report)["run"]["analysed"].dump(), R"({"steps":[1,1],"ranks":[1]})");
  EXPECT_EQ((*report)["overlap"].size(), 1u);
  EXPECT_EQ((*report)["overlap"][0]["compute_ns"], 600'000);
}

TEST(Report, MatchesTheGoldenOverlap) {
  const auto report = Report(OptionsFor({"overlap"}));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(RenderJson((*report)["overlap"][1]),
            R"({
  "rank": 1,
  "span_ns": 2000000,
  "compute_ns": 1200000,
  "comm_ns": 200000,
  "copy_ns": 0,
  "overlap_ns": 0,
  "overlap_ratio": 0,
  "exposed_comm_ns": 200000,
  "strict_exposed_comm_ns": 200000,
  "exposed_wait_ns": 0,
  "exposed_transfer_ns": 200000,
  "exposed_unresolved_ns": 0,
  "copy_only_ns": 0,
  "opaque_only_ns": 0,
  "idle_ns": 600000,
  "busy_ratio": 0.7
}
)");
}

}  // namespace
}  // namespace lockstep
