#include "aggregator/query/answers_ahead.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aggregator/store/forwarding_store.h"
#include "aggregator/store/sqlite/sqlite_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "platform/executor.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

bool Within(std::chrono::seconds most, const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::now() + most;
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Of one of its runs more is asked than a list can hold.
class TightStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::StatusOr<LoadedRun> LoadRun(const std::string& run) override {
    if (run == "large") std::vector<char>().reserve(std::numeric_limits<size_t>::max());  // throws
    return ForwardingStore::LoadRun(run);
  }
};

class AnswersAheadTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<TempDir> dir = TempDir::Create("", "ahead-test-");
    ASSERT_TRUE(dir.ok()) << dir.status();
    dir_ = std::make_unique<TempDir>(*std::move(dir));
    store_ = SqliteStore::Open(dir_->path() + "/runs.db").value();
  }

  void AddSource(const std::string& run, uint64_t id, bool ended) {
    SourceContext context;
    context.source_id = {0, id};
    context.path = "trace";
    context.claims = {{.rank = static_cast<int32_t>(id), .source = RankSource::kMetadata}};
    context.first_start_ns = 1'000;
    context.last_end_ns = 2'000;
    Batch batch;
    if (ended) {
      batch.total_batches = 1;
      batch.summary.emplace();
    }
    ASSERT_TRUE(store_->OpenRun(run, -1).ok());
    ASSERT_TRUE(store_->PutSource(run, context).ok());
    ASSERT_TRUE(store_->PutBatch(run, context.source_id, HashOf("batch"), batch).ok());
  }

  RunState StateOf(const std::string& run) {
    const std::vector<RunInfo> runs = store_->ListRuns().value();
    for (const RunInfo& info : runs) {
      if (info.name == run) return info.state;
    }
    ADD_FAILURE() << "no run " << run;
    return RunState::kOpen;
  }

  bool IsAnalysed(const std::string& run) {
    return Within(std::chrono::seconds(60), [&] { return StateOf(run) == RunState::kAnalysed; });
  }

  std::unique_ptr<TempDir> dir_;
  std::unique_ptr<SqliteStore> store_;
  SerialExecutor executor_;
};

TEST_F(AnswersAheadTest, ACompleteRunIsAnalysedThoughNobodyAsks) {
  AddSource("r", 1, true);
  AnswersAhead ahead(*store_, executor_, {.quiet_ns = 0});
  ahead.Ended("r");
  EXPECT_TRUE(IsAnalysed("r"));
}

TEST_F(AnswersAheadTest, ARunThatBecomesCompleteLaterIsAnalysedThen) {
  AddSource("r", 1, true);
  AddSource("r", 2, false);
  AddSource("other", 3, true);
  AnswersAhead ahead(*store_, executor_, {.quiet_ns = 0});
  ahead.Ended("r");
  ahead.Ended("other");
  ASSERT_TRUE(IsAnalysed("other"));
  EXPECT_EQ(StateOf("r"), RunState::kOpen);
  ASSERT_EQ(store_->FinishRun("r"), absl::OkStatus());
  ahead.Ended("r");
  EXPECT_TRUE(IsAnalysed("r"));
}

TEST_F(AnswersAheadTest, ARunThatIsGoneIsPassedOver) {
  AddSource("r", 1, true);
  AnswersAhead ahead(*store_, executor_, {.quiet_ns = 0});
  ahead.Ended("nothing");
  ahead.Ended("r");
  EXPECT_TRUE(IsAnalysed("r"));
}

TEST_F(AnswersAheadTest, ARunForWhichThereIsNoMemoryIsPassedOver) {
  AddSource("large", 1, true);
  AddSource("r", 2, true);
  TightStore tight(*store_);
  AnswersAhead ahead(tight, executor_, {.quiet_ns = 0});
  ahead.Ended("large");
  ahead.Ended("r");
  EXPECT_TRUE(IsAnalysed("r"));
  EXPECT_EQ(StateOf("large"), RunState::kComplete);
}

TEST_F(AnswersAheadTest, ARunWaitsUntilItIsQuiet) {
  AddSource("r", 1, true);
  AnswersAhead ahead(*store_, executor_, {.quiet_ns = int64_t{3'600} * kNsPerS});
  ahead.Ended("r");
  ahead.Stop();
  EXPECT_EQ(StateOf("r"), RunState::kComplete);
}

}  // namespace
}  // namespace lockstep
