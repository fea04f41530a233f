#include "analysis/compare/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>

#include "analysis/compare/metrics.h"
#include "tests/support/compare/random_run.h"

namespace lockstep::compare {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ComparedRun RunAt(int index, const RunPlan& plan) {
  RunPlan named = plan;
  named.name = "run" + std::to_string(100 + index);
  report::Document document = RandomDocument(named, static_cast<uint32_t>(7'000 + index));
  document.run.start_unix_ns = int64_t{1'700'000'000'000'000'000} + index * int64_t{86'400'000'000'000};
  return ComparedRunOf(std::move(document), plan.context).value();
}

// Forty runs whose code differs by half a percent from run to run; from `changed` on, the gemm is slower by a quarter.
std::vector<ComparedRun> Runs(int changed) {
  std::mt19937 random(static_cast<uint32_t>(changed + 1));
  std::normal_distribution<double> noise(1, 0.005);
  std::vector<ComparedRun> runs;
  for (int i = 0; i < 40; ++i) {
    RunPlan plan;
    plan.context = {{"commit", i < changed ? "old" : "new"}};
    const double factor = noise(random);
    for (KernelPlan& kernel : plan.kernels) kernel.ns *= factor;
    if (i >= changed) plan.kernels[0].ns *= 1.25;
    runs.push_back(RunAt(i, plan));
  }
  return runs;
}

report::History Followed(const std::vector<ComparedRun>& runs, RunContext context = {},
                         std::string_view metric = "step_time") {
  HistoryOfRuns history = HistoryOfRuns::Make(metric, std::move(context)).value();
  for (const ComparedRun& run : runs) history.Add(run);
  const auto changes = history.FindChanges();
  const auto named = [&](const std::string& name) {
    return *std::find_if(runs.begin(), runs.end(), [&](const ComparedRun& run) { return run.head.name == name; });
  };
  for (size_t i = 0; i < changes.size(); ++i) history.Explain(i, named(changes[i].first), named(changes[i].second));
  return history.Take();
}

TEST(History, FindsTheRunThatChangedTheStepTimeAndWhatChangedInIt) {
  for (const int changed : {7, 20, 33}) {
    std::vector<ComparedRun> runs = Runs(changed);
    std::shuffle(runs.begin(), runs.end(), std::mt19937(3));  // a store lists them by name
    const report::History history = Followed(runs);
    ASSERT_THAT(history.changes, SizeIs(1)) << changed;
    const report::HistoryChange& change = history.changes.front();
    EXPECT_EQ(change.run, "run" + std::to_string(100 + changed));
    EXPECT_EQ(change.previous_run, "run" + std::to_string(99 + changed));
    EXPECT_NEAR(change.change_ratio, 0.25 * 10'000 / 36'000, 0.02);
    EXPECT_EQ(change.ledger.front().part, "compute:gemm");
    ASSERT_THAT(change.context, SizeIs(1));
    EXPECT_EQ(change.context.front().key, "commit");
    EXPECT_TRUE(history.runs[static_cast<size_t>(changed)].begins_level);
    EXPECT_THAT(RenderText(history, {.max_rows = 100}), HasSubstr("<- change"));
  }
}

TEST(History, OfTheMeanStepFindsCheckpointsThatTheTypicalStepDoesNotShow) {
  std::vector<ComparedRun> runs = Runs(1'000);
  const size_t changed = 22;
  for (size_t i = changed; i < runs.size(); ++i) {
    std::vector<report::ProfileStep>& steps = runs[i].profile.steps;
    for (size_t step = 5; step < steps.size(); step += 10) steps[step].longest_ns.value *= 3;  // one step of ten
  }
  EXPECT_THAT(Followed(runs).changes, IsEmpty());
  const report::History history = Followed(runs, {}, "step_time_mean");
  ASSERT_THAT(history.changes, SizeIs(1));
  EXPECT_EQ(history.changes.front().run, runs[changed].head.name);
  EXPECT_NEAR(history.changes.front().change_ratio, 0.2, 0.02);
}

TEST(History, EachTimeOfAStepCanBeFollowed) {
  const std::vector<ComparedRun> runs = Runs(1'000);
  for (const std::string_view metric : NamesOfStepMetrics()) {
    const report::History history = Followed(runs, {}, metric);
    ASSERT_THAT(history.runs, SizeIs(40)) << metric;
    EXPECT_EQ(history.metric, metric);
  }
}

TEST(History, RunsWhoseCapturesOverlapAreOrderedByName) {
  std::vector<ComparedRun> runs = Runs(20);
  for (ComparedRun& run : runs) {
    run.head.start_unix_ns = int64_t{1'700'000'000'000'000'000} + static_cast<int64_t>(run.head.name.size() * 7 % 5);
    run.head.span_ns = 1'000'000'000;
  }
  std::shuffle(runs.begin(), runs.end(), std::mt19937(4));
  const report::History history = Followed(runs);
  ASSERT_THAT(history.changes, SizeIs(1));
  EXPECT_EQ(history.changes.front().run, "run120");
}

TEST(History, WithoutAChangeHasNone) {
  const report::History history = Followed(Runs(1'000));
  EXPECT_THAT(history.changes, IsEmpty());
  EXPECT_EQ(history.sentence, "No change of step_time is found in 40 runs.");
}

TEST(History, OfFewRunsSaysHowManyItNeeds) {
  std::vector<ComparedRun> runs = Runs(1'000);
  runs.resize(3);
  EXPECT_EQ(Followed(runs).sentence, "3 runs can be compared; a change can be found from 10 runs on.");
}

TEST(History, LeavesOutRunsOfAnotherJobAndSaysWhy) {
  std::vector<ComparedRun> runs = Runs(1'000);
  RunPlan larger;
  larger.ranks = 8;
  runs.push_back(RunAt(3, larger));
  runs.back().head.name = "larger";
  RunPlan none;
  none.steps = 0;
  runs.push_back(RunAt(4, none));
  const report::History history = Followed(runs, {});
  EXPECT_THAT(history.runs, SizeIs(40));
  ASSERT_THAT(history.left_out, SizeIs(2));
  EXPECT_EQ(history.left_out[0].reason, "it has no steps");
  EXPECT_EQ(history.left_out[1].reason, "its ranks is 8, and that of the newest run 4");
  EXPECT_THAT(Followed(runs, {{"commit", "old"}}).runs, SizeIs(40));
  EXPECT_THAT(Followed(runs, {{"commit", "other"}}).runs, IsEmpty());
}

TEST(History, RefusesAMetricThatDoesNotExist) {
  const absl::Status status = HistoryOfRuns::Make("steptime", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the metrics are step_time, step_time_mean, compute,"));
}

}  // namespace
}  // namespace lockstep::compare
