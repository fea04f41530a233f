#include "aggregator/query/run_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "aggregator/store/forwarding_store.h"
#include "aggregator/store/memory/memory_store.h"
#include "analysis/report/report.h"
#include "platform/executor.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class WatchedStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  std::vector<std::pair<Hash128, int32_t>> ranks;

  absl::Status PutRanks(const std::string& run, const std::vector<std::pair<Hash128, int32_t>>& resolved) override {
    ranks = resolved;
    return ForwardingStore::PutRanks(run, resolved);
  }
};

class RunQueryTest : public testing::Test {
 protected:
  // A source of one kernel-less batch, claimed by this rank.
  void AddSource(uint64_t id, int32_t rank, bool complete) {
    SourceContext context;
    context.source_id = {0, id};
    context.path = "trace";
    context.claims = {{.rank = rank, .source = RankSource::kMetadata}};
    context.first_start_ns = 1'000;
    context.last_end_ns = 2'000;
    context.kernels = 1;
    context.kernel_time_ns = 1'000;
    ASSERT_TRUE(store_.OpenRun("r", -1).ok());
    ASSERT_TRUE(store_.PutSource("r", context).ok());
    Batch batch;
    if (complete) {
      batch.total_batches = 1;
      batch.summary.emplace();
    }
    ASSERT_TRUE(store_.PutBatch("r", context.source_id, HashOf("batch"), batch).ok());
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

TEST_F(RunQueryTest, RanksOfACompleteRunArePublished) {
  AddSource(1, 5, true);
  ASSERT_EQ(PublishRanks(store_, "r"), absl::OkStatus());
  EXPECT_THAT(store_.ranks, ElementsAre(Pair(Hash128{0, 1}, 5)));
}

TEST_F(RunQueryTest, RanksOfAnOpenRunAreNot) {
  AddSource(1, 5, true);
  AddSource(2, 6, false);
  ASSERT_EQ(PublishRanks(store_, "r"), absl::OkStatus());
  EXPECT_THAT(store_.ranks, IsEmpty());
}

}  // namespace
}  // namespace lockstep
