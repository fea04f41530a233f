// Batches cut by time against the batches that they were cut from.
#include "bench/simulator/run/live_batches.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/received_batch.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "aggregator/store/memory/stream_rules.h"
#include "bench/simulator/run/condensed_files.h"

namespace lockstep {
namespace {

// Batches of all sources, and their contexts.
class Collector : public SourceSink {
 public:
  absl::Status Begin(const SourceContext& context) override {
    contexts.push_back(context);
    return absl::OkStatus();
  }
  absl::Status Take(const Hash128& /*source_id*/, const Batch& batch) override {
    batches[contexts.size() - 1].push_back(batch);
    return absl::OkStatus();
  }
  std::vector<SourceContext> contexts;
  std::map<size_t, std::vector<Batch>> batches;
};

class LiveBatches : public testing::Test {
 protected:
  // More than one batch a source: a batch holds at most 4,096 instances.
  void SetUp() override {
    SimulatorOptions options{.program = ProgramKind::kTrain, .tp = 2, .dp = 2, .steps = 120, .layers = 10, .seed = 5};
    ASSERT_TRUE(CompleteLayout(options).ok());
    auto scenario = MakeScenario(options, {.step_times_without = false}, {});
    ASSERT_TRUE(scenario.ok()) << scenario.status();
    for (const FileOfRun& file : FilesOf(**scenario)) ASSERT_TRUE(CondenseRanks(**scenario, file, collected_).ok());
    ASSERT_GT(collected_.batches[0].size(), 1U);
  }

  [[nodiscard]] LiveStretches Stretches(size_t source, int64_t count) const {
    const SourceContext& context = collected_.contexts[source];
    return {context.first_start_ns, (context.last_end_ns - context.first_start_ns) / count + 1};
  }
  [[nodiscard]] std::vector<LiveBatch> Cut(size_t source, const LiveStretches& stretches) const {
    return CutByTime(collected_.batches.at(source), collected_.contexts[source].bucket_ns, stretches);
  }

  Collector collected_;
};

template <typename Row>
std::vector<Row> AllOf(const std::vector<Batch>& batches, std::vector<Row> Batch::*table) {
  std::vector<Row> out;
  for (const Batch& batch : batches) out.insert(out.end(), (batch.*table).begin(), (batch.*table).end());
  return out;
}

std::vector<Batch> Plain(const std::vector<LiveBatch>& live) {
  std::vector<Batch> out;
  for (const LiveBatch& one : live) out.push_back(one.batch);
  return out;
}

TEST_F(LiveBatches, HoldTheSameRowsInTheSameOrder) {
  for (size_t source = 0; source < collected_.contexts.size(); ++source) {
    const std::vector<Batch>& whole = collected_.batches[source];
    const std::vector<Batch> cut = Plain(Cut(source, Stretches(source, 17)));
    EXPECT_EQ(AllOf(cut, &Batch::names), AllOf(whole, &Batch::names));
    EXPECT_EQ(AllOf(cut, &Batch::communicators), AllOf(whole, &Batch::communicators));
    EXPECT_EQ(AllOf(cut, &Batch::instances), AllOf(whole, &Batch::instances));
    EXPECT_EQ(AllOf(cut, &Batch::steps), AllOf(whole, &Batch::steps));
    EXPECT_EQ(AllOf(cut, &Batch::step_kernels), AllOf(whole, &Batch::step_kernels));
    EXPECT_EQ(AllOf(cut, &Batch::buckets), AllOf(whole, &Batch::buckets));
    EXPECT_EQ(AllOf(cut, &Batch::kernels), AllOf(whole, &Batch::kernels));
    EXPECT_EQ(AllOf(cut, &Batch::memory), AllOf(whole, &Batch::memory));
    EXPECT_EQ(cut.back().summary, whole.back().summary);
  }
}

TEST_F(LiveBatches, AreWhatAStoreTakes) {
  StreamState state;
  for (const Batch& batch : Plain(Cut(0, Stretches(0, 17)))) {
    ASSERT_EQ(batch.sequence, state.next_sequence);
    const absl::Status status = CheckBatch(state, batch);
    ASSERT_TRUE(status.ok()) << status;
    state = After(state, batch);
  }
  EXPECT_TRUE(state.complete);
}

TEST_F(LiveBatches, HoldNothingOfTheFutureAndNothingThatIsLate) {
  const LiveStretches stretches = Stretches(0, 17);
  int64_t latest_end_ns = INT64_MIN;
  std::vector<LiveBatch> live = Cut(0, stretches);
  EXPECT_EQ(live.front().stretch, 0);
  EXPECT_LE(live.back().stretch, 17);  // buckets end on a grid of their own
  for (const LiveBatch& one : live) {
    const int64_t begin_ns = stretches.begin_ns + one.stretch * stretches.width_ns;
    for (const InstanceRow& row : one.batch.instances) {
      EXPECT_LE(row.end_ns(), begin_ns + stretches.width_ns);
      latest_end_ns = std::max(latest_end_ns, row.end_ns());
      EXPECT_GT(latest_end_ns, begin_ns);  // it, or one before it that it had to wait for
    }
    for (const StepRow& row : one.batch.steps) EXPECT_LE(row.window_end_ns, begin_ns + stretches.width_ns);
  }
}

TEST_F(LiveBatches, AreNoLargerThanTheBatchesThatTheyAreCutFrom) {
  for (const LiveBatch& one : Cut(0, {collected_.contexts[0].first_start_ns, INT64_MAX / 2})) {
    EXPECT_EQ(one.stretch, 0);
    EXPECT_LE(one.batch.instances.size(), 4'096U);
  }
}

}  // namespace
}  // namespace lockstep
