#include "aggregator/query/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aggregator/store/memory/memory_store.h"
#include "platform/clock.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;
constexpr int64_t kNowNs = 1000 * kHourNs;

RunUsage Usage(const std::string& name, int64_t age_h, int64_t bytes, RunState state = RunState::kComplete) {
  RunUsage run{.bytes = bytes, .changed_unix_ns = kNowNs - age_h * kHourNs};
  run.info.name = name;
  run.info.state = state;
  return run;
}

std::vector<std::string> Going(const std::vector<RunUsage>& runs, const PruneRequest& request,
                               const std::string& written = "") {
  std::vector<std::string> names;
  for (const PruneVerdict& verdict :
       PlanPrune(runs, request, kNowNs, [&](const std::string& run) { return run == written; })) {
    if (verdict.removed) {
      names.push_back(verdict.run);
    }
  }
  return names;
}

const std::vector<RunUsage> kRuns = {Usage("new", 1, 100), Usage("old", 50, 200), Usage("older", 90, 400)};

TEST(PlanPrune, WhatIsOlderGoesAndNothingElse) {
  EXPECT_THAT(Going(kRuns, {.older_than_ns = 60 * kHourNs}), ElementsAre("older"));
  EXPECT_THAT(Going(kRuns, {.older_than_ns = 50 * kHourNs}), ElementsAre("older")) << "not older than its own age";
  EXPECT_THAT(Going(kRuns, {.older_than_ns = 100 * kHourNs}), IsEmpty());
}

TEST(PlanPrune, TheOldestGoUntilTheRestFits) {
  EXPECT_THAT(Going(kRuns, {.keep_bytes = 700}), IsEmpty());
  EXPECT_THAT(Going(kRuns, {.keep_bytes = 699}), ElementsAre("older"));
  EXPECT_THAT(Going(kRuns, {.keep_bytes = 299}), ElementsAre("older", "old"));
  EXPECT_THAT(Going(kRuns, {.keep_bytes = 0}), ElementsAre("older", "old", "new"));
}

TEST(PlanPrune, BothLimitsHoldTogether) {
  EXPECT_THAT(Going(kRuns, {.older_than_ns = 60 * kHourNs, .keep_bytes = 300}), ElementsAre("older"));
  EXPECT_THAT(Going(kRuns, {.older_than_ns = 60 * kHourNs, .keep_bytes = 100}), ElementsAre("older", "old"));
}

TEST(PlanPrune, ABaselineStaysAndTheNextGoesForIt) {
  std::vector<RunUsage> runs = kRuns;
  runs[2].info.baselines = {"main"};  // older
  EXPECT_THAT(Going(runs, {.keep_bytes = 600}), ElementsAre("old"));
  const auto verdicts =
      PlanPrune(runs, {.older_than_ns = 60 * kHourNs}, kNowNs, [](const std::string&) { return false; });
  EXPECT_EQ(verdicts[0].run, "older");
  EXPECT_FALSE(verdicts[0].removed);
  EXPECT_EQ(verdicts[0].reason, "the baseline main");
}

TEST(PlanPrune, ARunThatIsBeingWrittenStaysAndTheNextGoesForIt) {
  EXPECT_THAT(Going(kRuns, {.keep_bytes = 600}, "older"), ElementsAre("old"));
  const std::vector<RunUsage> fresh = {Usage("fresh", 0, 100, RunState::kOpen), Usage("open", 2, 100, RunState::kOpen)};
  EXPECT_THAT(Going(fresh, {.keep_bytes = 0}), ElementsAre("open")) << "an incomplete run may still be coming";
}

TEST(PlanPrune, RunsOfOneAgeGoByName) {
  EXPECT_THAT(Going({Usage("b", 5, 1), Usage("a", 5, 1), Usage("c", 5, 1)}, {.keep_bytes = 1}), ElementsAre("a", "b"));
}

class PruneTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* run : {"a", "b", "c"}) {
      clock_.Advance(kHourNs);
      ASSERT_TRUE(store_.OpenRun(run, -1).ok());
      ASSERT_TRUE(store_.FinishRun(run).ok());
    }
    clock_.Advance(kHourNs);
  }
  std::vector<std::string> Left() {
    std::vector<std::string> names;
    const auto runs = store_.ListRuns();
    for (const RunInfo& run : *runs) {
      names.push_back(run.name);
    }
    return names;
  }
  absl::StatusOr<std::vector<PruneVerdict>> Ask(const PruneRequest& request, const std::string& hidden = "") {
    return Prune(store_, opener_, request, clock_.UnixNs(), [&](const std::string& run) { return run != hidden; });
  }

  ManualClock clock_;
  MemoryStore store_{clock_};
  RunOpener opener_{store_};
};

TEST_F(PruneTest, ADryRunRemovesNothingAndSaysTheSame) {
  const auto dry = Ask({.older_than_ns = kHourNs, .dry_run = true}).value();
  EXPECT_THAT(Left(), ElementsAre("a", "b", "c"));
  const auto wet = Ask({.older_than_ns = kHourNs}).value();
  EXPECT_THAT(Left(), ElementsAre("c"));
  ASSERT_EQ(dry.size(), wet.size());
  for (size_t i = 0; i < dry.size(); ++i) {
    EXPECT_EQ(dry[i].run, wet[i].run);
    EXPECT_EQ(dry[i].removed, wet[i].removed);
  }
}

TEST_F(PruneTest, WhatTheAskerMayNotPruneIsNeitherNamedNorRemoved) {
  const auto verdicts = Ask({.keep_bytes = 0}, "b").value();
  EXPECT_EQ(verdicts.size(), 2U);
  EXPECT_THAT(Left(), ElementsAre("b"));
}

TEST_F(PruneTest, AnOpenStreamKeepsItsRun) {
  ASSERT_TRUE(opener_.Open("b", -1, false).ok());
  EXPECT_EQ(Ask({.keep_bytes = 0}).value()[1].reason, "being written");
  EXPECT_THAT(Left(), ElementsAre("b"));
  EXPECT_FALSE(opener_.DropUnlessOpen("b").value());
  opener_.Close("b", false);
  ASSERT_TRUE(Ask({.keep_bytes = 0}).ok());
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(PruneTest, ARequestWithoutALimitOrWithANegativeOneIsRefused) {
  for (const PruneRequest& request : {PruneRequest{}, PruneRequest{.older_than_ns = -1}, PruneRequest{.keep_bytes = -1},
                                      PruneRequest{.dry_run = true}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Ask(request).status()));
  }
  EXPECT_THAT(Left(), ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace lockstep
