// Questions about a run that grows in a store, against the same questions answered from nothing.
#include "aggregator/query/open_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "aggregator/query/run_query.h"
#include "aggregator/query/stable_names.h"
#include "aggregator/store/forwarding_store.h"
#include "aggregator/store/memory/memory_store.h"
#include "aggregator/store/sqlite/sqlite_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/received_batch.h"
#include "analysis/report/json.h"
#include "platform/clock.h"
#include "platform/executor.h"
#include "platform/temp_dir.h"
#include "tests/support/simulator/simulated.h"

namespace lockstep {
namespace {

constexpr GrowingLimits kLimits = {.chapters = {0, 2'000, 1}, .most_open_rows = 1 << 20};
// Without a thread that follows beside a test that does so itself: what one took the other does not find.
const OpenRunsOptions kByHand = {.limits = kLimits, .period_ns = 0, .rest_looks = 0, .answer_rest_ns = 0};

// Eight simulated ranks, cut into batches by time, as sources send them that are watched while they run.
class LiveRun {
 public:
  static constexpr int64_t kBatches = 12;

  LiveRun() {
    made_ = Simulated({"--program", "decode", "--tp", "8", "--dp", "1", "--hosts", "1", "--steps", "40", "--layers",
                       "20", "--cause", "slow_gpu:rank=3,factor=1.3"});
    for (size_t s = 0; s < made_->run.sources.size(); ++s) Cut(s);
  }

  [[nodiscard]] size_t sources() const { return batches_.size(); }

  void Put(JobStore& store, int64_t batch) const {
    for (size_t s = 0; s < sources(); ++s) PutOf(store, s, batch);
  }
  void Announce(JobStore& store, size_t source) const {
    ASSERT_EQ(store.OpenRun("r", 8), absl::OkStatus());
    ASSERT_EQ(store.PutSource("r", made_->run.sources[source].context).status(), absl::OkStatus());
  }
  void PutOf(JobStore& store, size_t source, int64_t batch) const {
    Announce(store, source);
    const SourceContext& context = made_->run.sources[source].context;
    const Hash128 hash{static_cast<uint64_t>(source), static_cast<uint64_t>(batch)};
    ASSERT_EQ(store.PutBatch("r", context.source_id, hash, batches_[source][static_cast<size_t>(batch)]),
              absl::OkStatus());
  }

 private:
  void Cut(size_t source) {
    const SourceData& data = made_->run.sources[source];
    std::vector<InstanceRow> rows;
    auto stream = *made_->instances->Open(source);
    for (auto block = *stream->Take(); !block.empty(); block = *stream->Take()) {
      rows.insert(rows.end(), block.begin(), block.end());
    }
    const int64_t first = data.context.first_start_ns;
    const int64_t length = (data.context.last_end_ns - first) / kBatches + 1;
    std::vector<Batch>& batches = batches_.emplace_back(static_cast<size_t>(kBatches));
    const auto of = [&](int64_t end_ns) -> Batch& {
      return batches[static_cast<size_t>(std::clamp<int64_t>((end_ns - first) / length, 0, kBatches - 1))];
    };
    size_t last = 0;  // rows stay in order of their start
    for (const InstanceRow& row : rows) {
      last = std::max(last, static_cast<size_t>(&of(row.end_ns()) - batches.data()));
      batches[last].instances.push_back(row);
    }
    for (const StepRow& step : data.steps) of(step.window_end_ns).steps.push_back(step);
    for (size_t name = 0; name < made_->run.names.size(); ++name) {
      const std::string& text = made_->run.names[name];
      batches[0].names.push_back({static_cast<uint32_t>(name), HashOf(text), text});
    }
    batches[0].communicators = data.communicators;
    batches[0].buckets = data.buckets;
    batches[0].kernels = data.kernels;
    for (int64_t b = 0; b < kBatches; ++b) batches[static_cast<size_t>(b)].sequence = b;
    batches.back().total_batches = kBatches;
    batches.back().summary = data.summary;
  }

  std::unique_ptr<SimulatedRun> made_;
  std::vector<std::vector<Batch>> batches_;
};

int64_t TotalOf(const Json& report, const std::string& field) {
  int64_t sum = 0;
  for (const Json& row : report["collectives"]) sum += row[field].is_null() ? 0 : row[field].get<int64_t>();
  return sum;
}

class OpenRunsTest : public testing::Test {
 protected:
  Json Answer(JobStore& store, OpenRuns* open) {
    const auto text = AnswerViews(store, "r", {.views = {"all"}}, executor_, open);
    EXPECT_EQ(text.status(), absl::OkStatus());
    return text.ok() ? Json::parse(*text) : Json();
  }

  // Through what is kept.
  static Json Kept(OpenRuns& open) {
    auto answer = open.Ask("r", {.views = {"all"}});
    EXPECT_EQ(answer.status(), absl::OkStatus());
    EXPECT_TRUE(answer.ok() && answer->text.has_value()) << "it was not kept";
    return answer.ok() && answer->text ? Json::parse(*answer->text) : Json();
  }

  static void ExpectSame(const Json& a, const Json& b) {
    EXPECT_EQ(TotalOf(a, "instances"), TotalOf(b, "instances"));
    EXPECT_EQ(TotalOf(a, "matched"), TotalOf(b, "matched"));
    EXPECT_EQ(a["kernels"], b["kernels"]);
    EXPECT_EQ(a["run"]["state"], b["run"]["state"]);
    const auto waiting = [](const Json& report) { return static_cast<double>(TotalOf(report, "wait_total_ns")); };
    EXPECT_NEAR(waiting(a) / waiting(b), 1, 0.04);  // clocks of 250 rows a rank
  }

  const LiveRun live_;
  ThreadPool executor_{2};
  MemoryStore store_;
};

TEST_F(OpenRunsTest, AnswerAsFromNothingWhileTheRunGrows) {
  const auto folder = TempDir::Create("", "open-runs");
  ASSERT_TRUE(folder.ok()) << folder.status();
  auto file = SqliteStore::Open(folder->path() + "/runs.db");
  ASSERT_TRUE(file.ok()) << file.status();
  for (JobStore* store : {static_cast<JobStore*>(&store_), static_cast<JobStore*>(file->get())}) {
    OpenRuns open(*store, executor_, kByHand);
    for (int64_t batch = 0; batch < LiveRun::kBatches - 1; ++batch) {
      live_.Put(*store, batch);
      if (batch < 6 || batch % 2 == 1) continue;
      ExpectSame(Kept(open), Answer(*store, nullptr));
      open.Follow();
    }
    live_.Put(*store, LiveRun::kBatches - 1);
    const Json complete = Answer(*store, &open);
    EXPECT_EQ(complete, Answer(*store, nullptr)) << "of a complete run nothing is kept";
  }
}

TEST_F(OpenRunsTest, FollowingTakesWhatCameBeforeItIsAskedFor) {
  OpenRuns open(store_, executor_, kByHand);
  for (int64_t batch = 0; batch < 8; ++batch) live_.Put(store_, batch);
  (void)Kept(open);
  EXPECT_FALSE(open.Follow()) << "nothing came";
  for (int64_t batch = 8; batch < 11; ++batch) live_.Put(store_, batch);
  EXPECT_TRUE(open.Follow());
  ExpectSame(Kept(open), Answer(store_, nullptr));
}

TEST_F(OpenRunsTest, FollowWhatWasAskedAboutBeforeItHadManyRows) {
  OpenRuns open(store_, executor_, kByHand);
  live_.Put(store_, 0);
  const auto early = open.Ask("r", {.views = {"all"}});
  ASSERT_EQ(early.status(), absl::OkStatus());
  EXPECT_FALSE(early->text.has_value());
  EXPECT_TRUE(early->loaded.has_value());
  EXPECT_FALSE(open.Follow());
  for (int64_t batch = 1; batch < 9; ++batch) live_.Put(store_, batch);
  EXPECT_TRUE(open.Follow());
}

TEST_F(OpenRunsTest, ARunThatWasDroppedAndSentAnewIsTheNewOne) {
  OpenRuns open(store_, executor_, kByHand);
  for (int64_t batch = 0; batch < 10; ++batch) live_.Put(store_, batch);
  (void)Kept(open);
  ASSERT_EQ(store_.DropRun("r"), absl::OkStatus());
  EXPECT_FALSE(open.Follow());
  EXPECT_TRUE(absl::IsNotFound(open.Ask("r", {.views = {"all"}}).status()));
  for (int64_t batch = 0; batch < 10; ++batch) {
    for (size_t source = 0; source + 1 < live_.sources(); ++source) live_.PutOf(store_, source, batch);
  }
  ExpectSame(Kept(open), Answer(store_, nullptr));
}

TEST_F(OpenRunsTest, WhatIsSelectedIsAnsweredFromTheWhole) {
  OpenRuns open(store_, executor_, kByHand);
  for (int64_t batch = 0; batch < 10; ++batch) live_.Put(store_, batch);
  const AnalysisOptions asked = {.views = {"skew"}, .ranks = {1}};
  const auto kept = AnswerViews(store_, "r", asked, executor_, &open);
  const auto whole = AnswerViews(store_, "r", asked, executor_);
  ASSERT_TRUE(kept.ok() && whole.ok());
  EXPECT_EQ(*kept, *whole);
  EXPECT_TRUE(absl::IsInvalidArgument(open.Ask("r", {.views = {"nonsense"}}).status()));
}

// A store whose instances cannot be read any longer, from some call on.
class FailingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  bool fails = false;
  absl::StatusOr<LoadedRun> LoadRun(const std::string& run) override {
    if (fails) return absl::DataLossError("damaged");
    return ForwardingStore::LoadRun(run);
  }
  absl::StatusOr<LoadedRun> LoadRest(const std::string& run, const HadTables& had) override {
    if (fails) return absl::DataLossError("damaged");
    return ForwardingStore::LoadRest(run, had);
  }
};

TEST_F(OpenRunsTest, AFailedLoadLeavesNothingBehind) {
  FailingStore store(store_);
  OpenRuns open(store, executor_, kByHand);
  for (int64_t batch = 0; batch < 10; ++batch) live_.Put(store_, batch);
  (void)Kept(open);
  store.fails = true;
  EXPECT_TRUE(absl::IsDataLoss(open.Ask("r", {.views = {"all"}}).status()));
  store.fails = false;
  ExpectSame(Kept(open), Answer(store_, nullptr));
}

// Counts how often a run is loaded; each load takes its time.
class SlowStore : public ForwardingStore {
 public:
  SlowStore(JobStore& target, ManualClock& clock) : ForwardingStore(target), clock_(clock) {}
  int loads = 0;
  int64_t load_ns = 0;
  absl::StatusOr<LoadedRun> LoadRun(const std::string& run) override {
    Count();
    return ForwardingStore::LoadRun(run);
  }
  absl::StatusOr<LoadedRun> LoadCollectives(const std::string& run) override {
    Count();
    return ForwardingStore::LoadCollectives(run);
  }
  absl::StatusOr<LoadedRun> LoadRest(const std::string& run, const HadTables& had) override {
    Count();
    return ForwardingStore::LoadRest(run, had);
  }

 private:
  void Count() {
    ++loads;
    clock_.Advance(load_ns);
  }
  ManualClock& clock_;
};

// Counts how often the instances of a source are read from their begin.
class CountedInstances : public InstanceSource {
 public:
  CountedInstances(std::unique_ptr<InstanceSource> target, int& begun) : target_(std::move(target)), begun_(begun) {}
  absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) override { return OpenBehind(source, {}); }
  absl::StatusOr<std::unique_ptr<InstanceStream>> OpenBehind(size_t source, const InstancePosition& position) override {
    if (position.number < 0) ++begun_;
    return target_->OpenBehind(source, position);
  }

 private:
  const std::unique_ptr<InstanceSource> target_;
  int& begun_;
};

// Counts what of a run is loaded again.
class CountingStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  int begun = 0;         // sources whose instances were read from their begin
  size_t steps = 0;      // loaded last
  bool is_rest = false;  // at the last load, of any source

  absl::StatusOr<LoadedRun> LoadRun(const std::string& run) override { return Count(ForwardingStore::LoadRun(run)); }
  absl::StatusOr<LoadedRun> LoadCollectives(const std::string& run) override {
    return Count(ForwardingStore::LoadCollectives(run));
  }
  absl::StatusOr<LoadedRun> LoadRest(const std::string& run, const HadTables& had) override {
    return Count(ForwardingStore::LoadRest(run, had));
  }

 private:
  absl::StatusOr<LoadedRun> Count(absl::StatusOr<LoadedRun> loaded) {
    if (!loaded.ok()) return loaded;
    steps = 0;
    for (const SourceData& source : loaded->data.sources) steps += source.steps.size();
    is_rest = std::any_of(loaded->tables.begin(), loaded->tables.end(), [](const auto& each) { return each.is_rest; });
    loaded->instances = std::make_unique<CountedInstances>(std::move(loaded->instances), begun);
    return loaded;
  }
};

class StoredOpenRunsTest : public OpenRunsTest {
 protected:
  void SetUp() override {
    auto folder = TempDir::Create("", "open-runs");
    ASSERT_TRUE(folder.ok()) << folder.status();
    folder_.emplace(*std::move(folder));
    auto file = SqliteStore::Open(folder_->path() + "/runs.db");
    ASSERT_TRUE(file.ok()) << file.status();
    file_ = *std::move(file);
  }

  std::optional<TempDir> folder_;
  std::unique_ptr<SqliteStore> file_;
};

TEST_F(StoredOpenRunsTest, WhatWasLoadedForAnAnswerIsNotLoadedForTheNext) {
  CountingStore store(*file_);
  OpenRuns open(store, executor_, kByHand);
  for (int64_t batch = 0; batch < 8; ++batch) live_.Put(*file_, batch);
  (void)Kept(open);
  const int begun = store.begun;
  const size_t steps = store.steps;
  for (int64_t batch = 8; batch < LiveRun::kBatches - 1; ++batch) {
    live_.Put(*file_, batch);
    if (batch % 2 == 0) {
      open.Follow();
    } else {
      ExpectSame(Kept(open), Answer(*file_, nullptr));
    }
    EXPECT_TRUE(store.is_rest);
    EXPECT_LT(store.steps, steps / 2) << "the steps of one batch of twelve";
  }
  EXPECT_EQ(store.begun, begun) << "the analysis went on";
}

TEST_F(StoredOpenRunsTest, TablesThatAreTooLargeToKeepAreLoadedForEachAnswer) {
  CountingStore store(*file_);
  OpenRunsOptions options = kByHand;
  options.most_table_bytes = 1;
  OpenRuns open(store, executor_, options);
  for (int64_t batch = 0; batch < 8; ++batch) live_.Put(*file_, batch);
  (void)Kept(open);
  const int begun = store.begun;
  for (int64_t batch = 8; batch < LiveRun::kBatches - 1; ++batch) {
    live_.Put(*file_, batch);
    if (batch % 2 == 0) open.Follow();
    ExpectSame(Kept(open), Answer(*file_, nullptr));
    EXPECT_FALSE(store.is_rest);
  }
  EXPECT_EQ(store.begun, begun) << "the analysis went on";
}

TEST_F(StoredOpenRunsTest, ARunThatBecameCompleteIsLoadedWhole) {
  OpenRuns open(*file_, executor_, kByHand);
  for (int64_t batch = 0; batch < LiveRun::kBatches - 1; ++batch) live_.Put(*file_, batch);
  (void)Kept(open);
  live_.Put(*file_, LiveRun::kBatches - 1);
  const Json complete = Answer(*file_, &open);
  EXPECT_EQ(complete["run"]["state"], "analysed");
  EXPECT_EQ(complete, Answer(*file_, nullptr));
}

constexpr int64_t kLoadNs = 1'000;

OpenRunsOptions ByHandOn(const Clock& clock) {
  OpenRunsOptions options = kByHand;
  options.clock = &clock;
  return options;
}

TEST_F(OpenRunsTest, ARunThatDoesNotChangeIsNotLoadedAgain) {
  ManualClock clock;
  SlowStore store(store_, clock);
  OpenRuns open(store, executor_, kByHand);
  for (int64_t batch = 0; batch < 10; ++batch) live_.Put(store_, batch);
  (void)Kept(open);
  EXPECT_EQ(store.loads, 1);
  for (int look = 0; look < 3; ++look) EXPECT_FALSE(open.Follow());
  EXPECT_EQ(store.loads, 1) << "nothing came since the answer";
  live_.Put(store_, 10);
  EXPECT_TRUE(open.Follow());
  for (int look = 0; look < 3; ++look) EXPECT_FALSE(open.Follow());
  EXPECT_EQ(store.loads, 2) << "nothing came since the look";
}

TEST_F(OpenRunsTest, ARunRestsForAMultipleOfWhatTheLastLookTook) {
  ManualClock clock;
  SlowStore store(store_, clock);
  store.load_ns = kLoadNs;
  OpenRunsOptions options = ByHandOn(clock);
  options.rest_looks = 10;
  OpenRuns open(store, executor_, options);
  for (int64_t batch = 0; batch < 10; ++batch) live_.Put(store_, batch);
  (void)Kept(open);
  live_.Put(store_, 10);
  clock.Advance(10 * kLoadNs - 1);
  EXPECT_FALSE(open.Follow());
  EXPECT_EQ(store.loads, 1) << "it rests";
  clock.Advance(1);
  EXPECT_TRUE(open.Follow());
  EXPECT_EQ(store.loads, 2);
}

TEST_F(OpenRunsTest, ARunThatCouldNotBeKeptIsTriedAgainAfterAMultipleOfTheTry) {
  ManualClock clock;
  SlowStore store(store_, clock);
  store.load_ns = kLoadNs;
  OpenRunsOptions options = ByHandOn(clock);
  options.rest_tries = 20;
  OpenRuns open(store, executor_, options);
  const size_t late = live_.sources() - 1;
  for (int64_t batch = 0; batch < 10; ++batch) {
    for (size_t source = 0; source < late; ++source) live_.PutOf(store_, source, batch);
  }
  live_.Announce(store_, late);
  const auto kept = [&] { return open.Ask("r", {.views = {"ranks"}})->text.has_value(); };
  EXPECT_FALSE(kept()) << "a rank has not begun";
  for (int64_t batch = 0; batch < 10; ++batch) live_.PutOf(store_, late, batch);
  EXPECT_FALSE(kept()) << "it was just tried";
  clock.Advance(20 * kLoadNs);
  EXPECT_TRUE(kept());
}

// Of interest under ThreadSanitizer.
TEST_F(StoredOpenRunsTest, MayBeAskedByManyWhileTheRunGrowsIsDroppedAndComesAgain) {
  OpenRunsOptions options = kByHand;
  options.period_ns = 1'000;
  options.most_runs = 1;
  for (JobStore* store : {static_cast<JobStore*>(&store_), static_cast<JobStore*>(file_.get())}) {
    OpenRuns open(*store, executor_, options);
    std::atomic<bool> done = false;
    std::vector<std::thread> askers;
    for (int i = 0; i < 3; ++i) {
      askers.emplace_back([&, i] {
        while (!done) {
          const auto answer = open.Ask(i == 2 ? "other" : "r", {.views = {"summary"}});
          EXPECT_TRUE(answer.ok() || absl::IsNotFound(answer.status())) << answer.status();
        }
      });
    }
    for (int round = 0; round < 2; ++round) {
      for (int64_t batch = 0; batch < 9; ++batch) live_.Put(*store, batch);
      ASSERT_EQ(store->DropRun("r"), absl::OkStatus());
    }
    done = true;
    for (std::thread& asker : askers) asker.join();
    open.Stop();
  }
}

TEST(StableNames, KeepTheirNumbersWhateverComesLater) {
  StableNames names;
  LoadedRun first;
  first.data.names = {"a", "c"};
  ASSERT_EQ(names.Apply(first), absl::OkStatus());
  LoadedRun second;
  second.data.names = {"a", "b", "c"};
  second.data.sources.resize(1);
  second.data.sources[0].step_kernels = {{.step = 0, .name = 1}, {.step = 0, .name = 2}};
  ASSERT_EQ(names.Apply(second), absl::OkStatus());
  EXPECT_EQ(second.data.names, (std::vector<std::string>{"a", "c", "b"}));
  EXPECT_EQ(second.data.sources[0].step_kernels[0].name, 2u);
  EXPECT_EQ(second.data.sources[0].step_kernels[1].name, 1u);
}

}  // namespace
}  // namespace lockstep
