#include "aggregator/query/run_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aggregator/query/answer_key.h"
#include "aggregator/store/forwarding_store.h"
#include "aggregator/store/memory/memory_store.h"
#include "aggregator/store/sqlite/sqlite_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "analysis/report/json.h"
#include "platform/executor.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class WatchedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<std::pair<Hash128, int32_t>> ranks;

  std::atomic<int> loads = 0;
  bool is_full = false;

  absl::Status PutRanks(const std::string& run, const std::vector<std::pair<Hash128, int32_t>>& resolved) override {
    ranks = resolved;
    return ForwardingStore::PutRanks(run, resolved);
  }
  absl::StatusOr<LoadedRun> LoadRun(const std::string& run) override {
    ++loads;
    return ForwardingStore::LoadRun(run);
  }
  absl::StatusOr<LoadedRun> LoadCollectives(const std::string& run) override {
    ++loads;
    return ForwardingStore::LoadCollectives(run);
  }
  absl::Status KeepAnswers(const std::string& run, const RunContent& content,
                           const std::vector<KeptAnswer>& answers) override {
    if (is_full) return absl::ResourceExhaustedError("no room");
    return ForwardingStore::KeepAnswers(run, content, answers);
  }
};

class RunQueryTest : public testing::Test {
 protected:
  // A source of one kernel-less batch, claimed by this rank.
  static SourceContext ContextOf(uint64_t id, int32_t rank) {
    SourceContext context;
    context.source_id = {0, id};
    context.path = "trace";
    context.claims = {{.rank = rank, .source = RankSource::kMetadata}};
    context.first_start_ns = 1'000;
    context.last_end_ns = 2'000;
    context.kernels = 1;
    context.kernel_time_ns = 1'000;
    return context;
  }

  void AddSource(uint64_t id, int32_t rank, bool complete) { AddSource(store_, ContextOf(id, rank), complete); }

  static void AddSource(JobStore& store, const SourceContext& context, bool complete) {
    ASSERT_TRUE(store.OpenRun("r", -1).ok());
    ASSERT_TRUE(store.PutSource("r", context).ok());
    Batch batch;
    if (complete) {
      batch.total_batches = 1;
      batch.summary.emplace();
    }
    ASSERT_TRUE(store.PutBatch("r", context.source_id, HashOf("batch"), batch).ok());
  }

  std::string StateAnswered() {
    const auto answer = AnswerViews(store_, "r", {.views = {"ranks"}}, executor_);
    EXPECT_EQ(answer.status(), absl::OkStatus());
    return answer.ok() ? Json::parse(*answer)["run"]["state"].get<std::string>() : "";
  }

  MemoryStore memory_;
  WatchedStore store_{memory_};
  SerialExecutor executor_;
};

TEST_F(RunQueryTest, AnUnknownRunIsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(AnswerViews(store_, "nothing", {}, executor_).status()));
}

TEST_F(RunQueryTest, AnUnknownViewIsWrongUsage) {
  AddSource(1, 0, true);
  EXPECT_TRUE(absl::IsInvalidArgument(AnswerViews(store_, "r", {.views = {"nonsense"}}, executor_).status()));
}

TEST_F(RunQueryTest, ACompleteRunIsAnalysedFromItsFirstAnswerOn) {
  AddSource(1, 0, true);
  EXPECT_EQ(StateAnswered(), "analysed");
  EXPECT_EQ(StateAnswered(), "analysed");
  EXPECT_EQ(store_.ListRuns().value()[0].state, RunState::kAnalysed);
}

TEST_F(RunQueryTest, AnOpenRunIsAnsweredAndStaysOpen) {
  AddSource(1, 0, false);
  EXPECT_EQ(StateAnswered(), "open");
  EXPECT_EQ(store_.ListRuns().value()[0].state, RunState::kOpen);
}

// What is kept in a file, against what a store that keeps nothing computes.
class KeptAnswersTest : public RunQueryTest {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Create("", "query-test-");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_.emplace(*std::move(dir));
    file_ = SqliteStore::Open(dir_->path() + "/runs.db").value();
    keeping_.emplace(*file_);
  }

  void AddToBoth(uint64_t id, int32_t rank, bool complete) {
    AddSource(*keeping_, ContextOf(id, rank), complete);
    AddSource(store_, ContextOf(id, rank), complete);
  }

  // The answer of the file is that of the memory; whether it had to be computed.
  bool IsComputed(const AnalysisOptions& options) {
    const int before = keeping_->loads;
    const auto kept = AnswerViews(*keeping_, "r", options, executor_);
    const auto computed = AnswerViews(store_, "r", options, executor_);
    EXPECT_EQ(kept.status(), absl::OkStatus());
    EXPECT_TRUE(kept.ok() && computed.ok() && *kept == *computed) << options.views[0];
    return keeping_->loads > before;
  }

  std::optional<TempDir> dir_;
  std::unique_ptr<SqliteStore> file_;
  std::optional<WatchedStore> keeping_;
};

TEST_F(KeptAnswersTest, AnAnswerIsComputedOnce) {
  AddToBoth(1, 0, true);
  EXPECT_TRUE(IsComputed({.views = {"ranks"}}));
  EXPECT_FALSE(IsComputed({.views = {"ranks"}}));
  EXPECT_TRUE(IsComputed({.views = {"ranks"}, .ranks = {0}})) << "another question";
  EXPECT_FALSE(IsComputed({.views = {"ranks"}, .ranks = {0}}));
}

TEST_F(KeptAnswersTest, WhoSawTheSummaryHasEveryViewWaiting) {
  AddToBoth(1, 0, true);
  EXPECT_TRUE(IsComputed({.views = {"summary"}}));
  for (const std::string& view : KnownViews()) EXPECT_FALSE(IsComputed({.views = {view}})) << view;
  EXPECT_TRUE(IsComputed({.views = {"kernels"}, .limit = 3}));
  EXPECT_FALSE(IsComputed({.views = {"kernels"}, .limit = 3}));
}

TEST_F(KeptAnswersTest, WhoSawSeveralViewsWithTheSummaryHasEveryViewWaiting) {
  AddToBoth(1, 0, true);
  EXPECT_TRUE(IsComputed({.views = {"summary", "quality", "profile"}})) << "what a comparison asks for";
  EXPECT_FALSE(IsComputed({.views = {"summary", "quality", "profile"}}));
  for (const std::string& view : KnownViews()) EXPECT_FALSE(IsComputed({.views = {view}})) << view;
}

TEST_F(KeptAnswersTest, SeveralViewsAreJoinedFromWhatIsKeptOfEach) {
  AddToBoth(1, 0, true);
  AddToBoth(2, 1, true);
  EXPECT_TRUE(IsComputed({.views = {"summary"}}));
  EXPECT_FALSE(IsComputed({.views = {"all"}}));
  EXPECT_FALSE(IsComputed({.views = KnownViews()}));
  EXPECT_FALSE(IsComputed({.views = {"pictures", "ranks", "memory", "summary"}})) << "what a page asks for";
  EXPECT_TRUE(IsComputed({.views = {"kernels", "memory"}, .limit = 3})) << "another question";
}

TEST_F(KeptAnswersTest, AnUnknownViewBesideTheSummaryIsWrongUsage) {
  AddToBoth(1, 0, true);
  const AnalysisOptions asked{.views = {"summary", "nonsense"}};
  EXPECT_TRUE(absl::IsInvalidArgument(AnswerViews(*keeping_, "r", asked, executor_).status()));
  EXPECT_TRUE(IsComputed({.views = {"summary"}}));
  EXPECT_TRUE(absl::IsInvalidArgument(AnswerViews(*keeping_, "r", asked, executor_).status()));
}

TEST_F(KeptAnswersTest, ARestrictedSummaryMakesNoOtherViews) {
  AddToBoth(1, 0, true);
  EXPECT_TRUE(IsComputed({.views = {"summary"}, .ranks = {0}}));
  EXPECT_TRUE(IsComputed({.views = {"ranks"}}));
}

TEST_F(KeptAnswersTest, AChangedRunIsComputedAgain) {
  AddToBoth(1, 0, true);
  EXPECT_TRUE(IsComputed({.views = {"ranks"}}));
  AddToBoth(2, 1, true);
  EXPECT_TRUE(IsComputed({.views = {"ranks"}}));
  EXPECT_FALSE(IsComputed({.views = {"ranks"}}));
}

TEST_F(KeptAnswersTest, OfAnOpenRunNothingIsKept) {
  AddToBoth(1, 0, false);
  EXPECT_TRUE(IsComputed({.views = {"ranks"}}));
  EXPECT_TRUE(IsComputed({.views = {"ranks"}}));
}

TEST_F(KeptAnswersTest, WhatIsNoReportIsComputedAgain) {
  AddToBoth(1, 0, true);
  const AnalysisOptions asked{.views = {"ranks"}};
  for (const std::string text : {"", "report", "{\x1b[2J}", "{\"\xff\"}"}) {
    const LoadedRun run = file_->LoadRun("r").value();
    ASSERT_TRUE(file_->KeepAnswers("r", *run.content, {{AnswerKey(asked), text}}).ok());
    EXPECT_TRUE(IsComputed(asked)) << text;
    EXPECT_FALSE(IsComputed(asked)) << text;
  }
}

TEST(AnswerKeyTest, IsThatOfTheQuestionHoweverItIsPut) {
  const Hash128 all = AnswerKey({.views = {"all"}});
  EXPECT_EQ(AnswerKey({.views = AllViews()}), all);
  EXPECT_EQ(AnswerKey({.views = {"clock", "ranks", "clock"}}), AnswerKey({.views = {"ranks", "clock"}}));
  EXPECT_NE(AnswerKey({.views = {"clock"}}), AnswerKey({.views = {"ranks"}}));
  EXPECT_NE(AnswerKey({.views = {"clock", "nonsense"}}), AnswerKey({.views = {"clock"}}));
  EXPECT_NE(AnswerKey({.views = {"all"}, .kernels = "x"}), all);
  EXPECT_NE(AnswerKey({.views = {"all"}, .limit = 20}), all);
  EXPECT_NE(AnswerKey({.views = {"all"}, .families = {{"gemm", "mm"}}}), all);
}

TEST_F(KeptAnswersTest, WithoutRoomTheAnswerIsGivenAndNotKept) {
  AddToBoth(1, 0, true);
  keeping_->is_full = true;
  EXPECT_TRUE(IsComputed({.views = {"ranks"}}));
  EXPECT_TRUE(IsComputed({.views = {"ranks"}}));
}

TEST_F(KeptAnswersTest, WhatWasAnsweredAheadIsNotComputedForWhoeverAsks) {
  AddToBoth(1, 0, true);
  ASSERT_EQ(AnswerAhead(*keeping_, "r", executor_, [] { return true; }), absl::OkStatus());
  EXPECT_EQ(keeping_->ListRuns().value()[0].state, RunState::kAnalysed);
  for (const std::string& view : KnownViews()) EXPECT_FALSE(IsComputed({.views = {view}})) << view;
  EXPECT_FALSE(IsComputed({.views = {"summary", "quality", "profile"}})) << "what a comparison asks for";
}

TEST_F(KeptAnswersTest, AheadOfAnOpenRunNothingIsLoaded) {
  AddToBoth(1, 0, false);
  EXPECT_EQ(AnswerAhead(*keeping_, "r", executor_, [] { return true; }), absl::OkStatus());
  EXPECT_EQ(keeping_->loads, 0);
  EXPECT_EQ(keeping_->ListRuns().value()[0].state, RunState::kOpen);
}

TEST_F(KeptAnswersTest, AnAnalysisAheadThatIsStoppedKeepsNothing) {
  AddToBoth(1, 0, true);
  EXPECT_TRUE(absl::IsCancelled(AnswerAhead(*keeping_, "r", executor_, [] { return false; })));
  EXPECT_EQ(keeping_->ListRuns().value()[0].state, RunState::kComplete);
  EXPECT_TRUE(IsComputed({.views = {"summary"}}));
}

TEST_F(KeptAnswersTest, ThoseWhoAskAtTheSameTimeWaitForOneAnalysis) {
  AddToBoth(1, 0, true);
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; ++i) {
    askers.emplace_back([this] {
      SerialExecutor executor;
      EXPECT_TRUE(AnswerViews(*keeping_, "r", {.views = {"summary"}}, executor).ok());
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(keeping_->loads, 1);
}

TEST_F(RunQueryTest, RanksOfACompleteRunArePublished) {
  AddSource(1, 5, true);
  ASSERT_EQ(PublishRanks(store_, "r"), absl::OkStatus());
  EXPECT_THAT(store_.ranks, ElementsAre(Pair(Hash128{0, 1}, 5)));
}

TEST_F(KeptAnswersTest, RanksArePublishedAgainOnlyWhenTheRunChanged) {
  AddToBoth(1, 5, true);
  ASSERT_EQ(PublishRanks(*keeping_, "r"), absl::OkStatus());
  EXPECT_THAT(keeping_->ranks, ElementsAre(Pair(Hash128{0, 1}, 5)));
  ASSERT_EQ(PublishRanks(*keeping_, "r"), absl::OkStatus());
  EXPECT_EQ(keeping_->loads, 1);
  AddToBoth(2, 6, true);
  ASSERT_EQ(PublishRanks(*keeping_, "r"), absl::OkStatus());
  EXPECT_EQ(keeping_->loads, 2);
  EXPECT_THAT(keeping_->ranks, ElementsAre(Pair(Hash128{0, 1}, 5), Pair(Hash128{0, 2}, 6)));
}

TEST_F(RunQueryTest, RanksOfAnOpenRunAreNot) {
  AddSource(1, 5, true);
  AddSource(2, 6, false);
  ASSERT_EQ(PublishRanks(store_, "r"), absl::OkStatus());
  EXPECT_THAT(store_.ranks, IsEmpty());
}

}  // namespace
}  // namespace lockstep
