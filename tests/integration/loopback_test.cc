// Real agents against a real server on a loopback port: what arrives does not depend on how, when or how often it is
// sent.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agent/condense_and_send.h"
#include "agent/uplink/grpc/grpc_transport.h"
#include "agent/uplink/uplink_client.h"
#include "aggregator/grpc/server.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/report/json.h"
#include "cli/embedded_cluster.h"
#include "cli/query_client.h"
#include "platform/temp_dir.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

constexpr const char* kRun = "run";
const std::string kTraces = "../shared/data/kineto/param_dlrm_8rank_v100/kineto";

UplinkClientOptions OptionsFor(const std::string& agent, int32_t expected_ranks = -1) {
  UplinkClientOptions options;
  options.session.hello = {.run = kRun, .agent = agent, .agent_version = "test", .expected_ranks = expected_ranks};
  options.back_off = {.initial_ns = 1'000'000, .max_ns = 10'000'000};
  return options;
}

// A server on a port of its own over a store in a file.
class Aggregator {
 public:
  Aggregator() : folder_(TempDir::Create("", "lockstep-loopback-").value()) { Start("127.0.0.1:0"); }

  void Start(const std::string& listen) {
    store_ = OpenStore("sqlite", {.path = folder_.path() + "/store.sqlite"}).value();
    server_ = AggregatorServer::Start(*store_, {.listen = listen, .grace_ns = 0}).value();
  }
  // Ends the server and starts another one on the same port and store.
  void Restart() {
    const std::string address = server_->address();
    server_.reset();
    store_.reset();
    Start(address);
  }

  [[nodiscard]] const std::string& address() const { return server_->address(); }
  [[nodiscard]] std::unique_ptr<UplinkTransport> Transport() const { return MakeGrpcTransport(ConnectTo(address())); }
  [[nodiscard]] QueryClient Query() const { return {ConnectTo(address()), address()}; }
  [[nodiscard]] JobStore& store() { return *store_; }

 private:
  TempDir folder_;
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<AggregatorServer> server_;
};

// --- made-up sources: the path of batches alone ---

SourceContext RankedSource(uint64_t number) {
  SourceContext context;
  context.source_id = {7, number};
  context.path = fmt::format("trace{}.json", number);
  context.format = "kineto";
  context.claims = {{.rank = static_cast<int32_t>(number), .source = RankSource::kMetadata}};
  return context;
}

constexpr int64_t kSmallBatches = 12;
constexpr int64_t kInstances = 50;  // a batch

Batch SmallBatch(uint64_t source, int64_t sequence) {
  Batch batch;
  batch.sequence = sequence;
  if (sequence == 0) {
    batch.names.push_back({.id = 0, .hash = HashOf("ncclKernel"), .text = "ncclKernel"});
    batch.communicators.push_back({.id = 0, .known = true, .group_name = "0", .members = {0, 1, 2}, .size = 3});
  }
  for (int64_t i = 0; i < kInstances; ++i) {
    const int64_t ordinal = sequence * kInstances + i;
    InstanceRow row;
    row.start_ns = 1'000'000'000 + ordinal * 1000 + static_cast<int64_t>(source);
    row.duration_ns = 300;
    row.seq = ordinal;
    row.stream = 7;
    row.op = CollectiveOp::kAllReduce;
    batch.instances.push_back(row);
  }
  if (sequence + 1 == kSmallBatches) {
    batch.total_batches = kSmallBatches;
    batch.summary.emplace();
  }
  return batch;
}

absl::Status SendBatches(UplinkClient& uplink, uint64_t source, int64_t n) {
  const SourceContext context = RankedSource(source);
  absl::Status status = uplink.BeginSource(context);
  for (int64_t i = 0; i < n && status.ok(); ++i) {
    if (uplink.Wants(context.source_id, i)) {
      OutgoingBatch batch{.source_id = context.source_id, .sequence = i, .body = EncodeBatch(SmallBatch(source, i))};
      batch.content_hash = HashOf(batch.body);
      status = uplink.Push(std::move(batch));
    }
  }
  return status;
}

std::vector<InstanceRow> InstancesOf(const LoadedRun& run, size_t source) {
  auto stream = run.instances->Open(source).value();
  std::vector<InstanceRow> rows;
  for (auto block = stream->Next().value(); !block.empty(); block = stream->Next().value()) {
    rows.insert(rows.end(), block.begin(), block.end());
  }
  return rows;
}

void ExpectWhole(JobStore& store, size_t sources) {
  const LoadedRun run = store.LoadRun(kRun).value();
  EXPECT_EQ(run.data.info.state, RunState::kComplete);
  ASSERT_EQ(run.data.sources.size(), sources);
  for (size_t s = 0; s < sources; ++s) {
    EXPECT_TRUE(run.data.sources[s].complete);
    const std::vector<InstanceRow> rows = InstancesOf(run, s);
    ASSERT_EQ(rows.size(), static_cast<size_t>(kSmallBatches * kInstances));
    const auto number = static_cast<int64_t>(run.data.sources[s].context.source_id.low);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i].start_ns, 1'000'000'000 + static_cast<int64_t>(i) * 1000 + number);
      ASSERT_EQ(rows[i].seq, static_cast<int64_t>(i));
    }
  }
}

TEST(Loopback, BatchesOfThreeAgentsArriveWhole) {
  Aggregator aggregator;
  std::vector<std::thread> agents;
  for (uint64_t source = 0; source < 3; ++source) {
    agents.emplace_back([&aggregator, source] {
      UplinkClient uplink(aggregator.Transport(), OptionsFor(fmt::format("node{}", source), 3), {});
      EXPECT_EQ(SendBatches(uplink, source, kSmallBatches), absl::OkStatus());
      EXPECT_EQ(uplink.Drain(false).status(), absl::OkStatus());
    });
  }
  for (std::thread& agent : agents) {
    agent.join();
  }
  ExpectWhole(aggregator.store(), 3);
}

TEST(Loopback, AnAgentStartedAgainGoesOn) {
  Aggregator aggregator;
  for (const int64_t until : {3L, 7L, kSmallBatches}) {
    UplinkClient uplink(aggregator.Transport(), OptionsFor("node", 1), {});
    ASSERT_EQ(SendBatches(uplink, 1, until), absl::OkStatus());
    ASSERT_EQ(uplink.Drain(false).status(), absl::OkStatus());
  }
  ExpectWhole(aggregator.store(), 1);
}

TEST(Loopback, AnAgentSurvivesARestartOfTheAggregator) {
  Aggregator aggregator;
  UplinkClient uplink(aggregator.Transport(), OptionsFor("node", 1), {});
  ASSERT_EQ(SendBatches(uplink, 1, kSmallBatches / 2), absl::OkStatus());
  aggregator.Restart();
  ASSERT_EQ(SendBatches(uplink, 1, kSmallBatches), absl::OkStatus());
  ASSERT_EQ(uplink.Drain(false).status(), absl::OkStatus());
  ExpectWhole(aggregator.store(), 1);
}

TEST(Loopback, AConflictingBatchRefusesItsSourceOnly) {
  Aggregator aggregator;
  {
    UplinkClient first(aggregator.Transport(), OptionsFor("node"), {});
    ASSERT_EQ(SendBatches(first, 1, 1), absl::OkStatus());
    ASSERT_EQ(first.Drain(false).status(), absl::OkStatus());
  }
  UplinkClient other(aggregator.Transport(), OptionsFor("node"), {});
  UplinkClient same(aggregator.Transport(), OptionsFor("node"), {});
  ASSERT_EQ(other.BeginSource(RankedSource(1)), absl::OkStatus());
  ASSERT_EQ(SendBatches(same, 1, 2), absl::OkStatus());
  ASSERT_EQ(same.Drain(false).status(), absl::OkStatus());
  OutgoingBatch different{.source_id = RankedSource(1).source_id, .sequence = 1, .body = EncodeBatch(SmallBatch(2, 1))};
  different.content_hash = HashOf(different.body);
  ASSERT_EQ(other.Push(different), absl::OkStatus());
  ASSERT_EQ(SendBatches(other, 2, kSmallBatches), absl::OkStatus());
  const auto summary = other.Drain(false);
  ASSERT_EQ(summary.status(), absl::OkStatus());
  ASSERT_EQ(summary->refused.size(), 1U);
  EXPECT_EQ(summary->refused[0].reason, "conflicting_batch");
  EXPECT_EQ(InstancesOf(aggregator.store().LoadRun(kRun).value(), 1).size(),
            static_cast<size_t>(kSmallBatches * kInstances));
}

TEST(Loopback, AnAgentWithoutAnAggregatorGivesUp) {
  UplinkClientOptions options = OptionsFor("node");
  options.give_up_after_ns = 0;
  UplinkClient uplink(MakeGrpcTransport(ConnectTo("127.0.0.1:1")), options, {});
  EXPECT_TRUE(absl::IsUnavailable(uplink.BeginSource(RankedSource(1))));
}

TEST(Loopback, APortInUseIsAClearError) {
  Aggregator aggregator;
  const auto second = AggregatorServer::Start(aggregator.store(), {.listen = aggregator.address()});
  EXPECT_TRUE(absl::IsUnavailable(second.status()));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(aggregator.address()));
}

TEST(Loopback, RunsAreListedAndFinishedOverTheWire) {
  Aggregator aggregator;
  UplinkClient uplink(aggregator.Transport(), OptionsFor("node"), {});
  ASSERT_EQ(SendBatches(uplink, 1, 2), absl::OkStatus());
  ASSERT_EQ(uplink.Drain(false).status(), absl::OkStatus());
  const QueryClient query = aggregator.Query();
  ASSERT_EQ(query.Runs().value().size(), 1U);
  EXPECT_EQ(query.Runs().value()[0].state, RunState::kOpen);
  ASSERT_EQ(query.FinishRun(kRun), absl::OkStatus());
  EXPECT_EQ(query.Runs().value()[0].state, RunState::kComplete);
  EXPECT_TRUE(absl::IsNotFound(query.FinishRun("nothing")));
  ASSERT_EQ(query.DropRun(kRun), absl::OkStatus());
  EXPECT_TRUE(query.Runs().value().empty());
}

TEST(Loopback, AnUnknownRunIsNotFound) {
  const Aggregator aggregator;
  EXPECT_TRUE(absl::IsNotFound(aggregator.Query().Views("nothing", {.views = {"summary"}}).status()));
}

// --- real traces: the whole path ---

class RealTraces : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kTraces)) {
      GTEST_SKIP() << "NOT TESTED: the real traces are not there: " << kTraces;
    }
    inputs_ = ListInputs({kTraces});
    ASSERT_EQ(inputs_.problems.size(), 0U);
    asked_.views = {"ranks", "quality", "kernels", "collectives", "skew", "overlap"};
    asked_.instances = -1;
  }

  [[nodiscard]] CondenseAndSendOptions Send(size_t jobs) const {
    CondenseAndSendOptions options;
    options.condense.tmp_dir = tmp_.path();
    options.jobs = jobs;
    return options;
  }

  [[nodiscard]] std::string Analyze(const InputFiles& inputs, size_t jobs) const {
    const auto cluster = EmbeddedCluster::Open({}).value();
    const auto ingested = cluster->Ingest({.run = kRun, .inputs = inputs, .send = Send(jobs)}, {});
    EXPECT_EQ(ingested.status(), absl::OkStatus());
    return Answer(cluster->query());
  }

  [[nodiscard]] std::string Answer(const QueryClient& query) const {
    const absl::StatusOr<Json> report = query.Views(kRun, asked_);
    EXPECT_EQ(report.status(), absl::OkStatus());
    return report.ok() ? RenderJson(*report) : "";
  }

  absl::Status RunAgent(const Aggregator& aggregator, const InputFiles& inputs, const std::stop_token& stop,
                        const CondenseAndSendOptions& options) const {
    UplinkClient uplink(aggregator.Transport(), OptionsFor("node"), stop);
    const auto reports = CondenseAndSend(inputs, options, uplink, stop);
    return reports.ok() ? uplink.Drain(false).status() : reports.status();
  }

  const TempDir tmp_ = TempDir::Create("", "lockstep-sort-").value();
  InputFiles inputs_;
  AnalysisOptions asked_;
};

TEST_F(RealTraces, ThreeAgentsGiveTheSameDocumentAsAnalyze) {
  const std::string expected = Analyze(inputs_, 1);
  Aggregator aggregator;
  std::vector<InputFiles> parts(3);
  for (size_t i = 0; i < inputs_.files.size(); ++i) {
    parts[i % 3].files.push_back(inputs_.files[i]);
  }
  std::vector<std::thread> agents;
  for (const InputFiles& part : parts) {
    agents.emplace_back([&] { EXPECT_EQ(RunAgent(aggregator, part, {}, Send(2)), absl::OkStatus()); });
  }
  for (std::thread& agent : agents) {
    agent.join();
  }
  EXPECT_EQ(Answer(aggregator.Query()), expected);
  EXPECT_EQ(Answer(aggregator.Query()), expected) << "asked again";
}

TEST_F(RealTraces, OrderAndJobsChangeNothing) {
  InputFiles reversed = inputs_;
  std::reverse(reversed.files.begin(), reversed.files.end());
  EXPECT_EQ(Analyze(reversed, 3), Analyze(inputs_, 1));
}

TEST_F(RealTraces, AnAgentStoppedInTheMiddleAndStartedAgainChangesNothing) {
  Aggregator aggregator;
  for (const int calls : {1, 5}) {
    std::stop_source stop;
    CondenseAndSendOptions options = Send(1);
    std::atomic<int> left{calls};
    options.progress = [&](const SendProgress&) {
      if (left.fetch_sub(1) == 1) {
        stop.request_stop();
      }
    };
    const absl::Status interrupted = RunAgent(aggregator, inputs_, stop.get_token(), options);
    EXPECT_TRUE(interrupted.ok() || absl::IsCancelled(interrupted)) << interrupted;
  }
  ASSERT_EQ(RunAgent(aggregator, inputs_, {}, Send(1)), absl::OkStatus());
  EXPECT_EQ(Answer(aggregator.Query()), Analyze(inputs_, 1));
}

TEST(JobsWithin, AreAsManyFilesAtATimeAsFindRoomToSort) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  EXPECT_EQ(JobsWithin(24 * kMiB, 64), 3U) << "many cores are no reason to take more memory than was allowed";
  EXPECT_EQ(JobsWithin(24 * kMiB, 2), 2U);
  EXPECT_EQ(JobsWithin(1 * kMiB, 64), 1U);
  EXPECT_EQ(JobsWithin(0, 1), 1U);
  EXPECT_EQ(SortShare(24 * kMiB, 3, 48 * kMiB), 8 * kMiB);
}

}  // namespace
}  // namespace lockstep
