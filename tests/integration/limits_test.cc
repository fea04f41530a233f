// What an aggregator does with more than it takes: a clear status and a hint when to try again, bounded memory, and in
// the end everything has arrived.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/uplink/grpc/grpc_transport.h"
#include "agent/uplink/uplink_client.h"
#include "aggregator/grpc/server.h"
#include "aggregator/store/forwarding_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/received_batch.h"
#include "lockstep/v1/ingest.grpc.pb.h"
#include "platform/clock.h"
#include "proto/batch_codec.h"

#if defined(__SANITIZE_ADDRESS__)
#define LOCKSTEP_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKSTEP_ADDRESS_SANITIZER
#endif
#endif
#ifdef LOCKSTEP_ADDRESS_SANITIZER
#include <sanitizer/allocator_interface.h>
#endif

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

SourceContext UnrankedSource(uint64_t number) {
  SourceContext context;
  context.source_id = {7, number};
  context.path = fmt::format("trace{}.json", number);
  context.format = "kineto";
  return context;
}

// What this process holds. The sanitizer keeps what is freed for a while, but counts what is not.
int64_t HeldMiB() {
#ifdef LOCKSTEP_ADDRESS_SANITIZER
  return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes() >> 20);
#else
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmRSS:") {
  }
  int64_t kib = 0;
  status >> kib;
  return kib / 1024;
#endif
}

// A server over a store in memory, and one plain stream to it, without any of the agent's own care.
class LimitsTest : public testing::Test {
 protected:
  void Start(const IngestLimits& limits, const StoreLimits& store_limits = {}) {
    store_ = OpenStore("memory", {.limits = store_limits}).value();
    server_ = AggregatorServer::Start(*store_, {.listen = "127.0.0.1:0", .limits = limits, .grace_ns = 0}).value();
    stub_ = v1::Ingest::NewStub(ConnectTo(server_->address()));
  }

  class Stream {
   public:
    explicit Stream(v1::Ingest::Stub& stub) : stream_(stub.Stream(&context_)) {}
    bool Say(const v1::IngestRequest& request) { return stream_->Write(request); }
    // Whether it was answered.
    bool Hello(const std::string& run, bool replace = false) {
      v1::IngestRequest request;
      request.mutable_hello()->set_protocol_version(1);
      request.mutable_hello()->set_run(run);
      request.mutable_hello()->set_replace(replace);
      return Ask(request);
    }
    bool Source(uint64_t number) {
      v1::IngestRequest request;
      ToProto(UnrankedSource(number), request.mutable_source()->mutable_context());
      return Ask(request);
    }
    bool Ask(const v1::IngestRequest& request) { return Say(request) && Answered(); }
    bool Answered() {
      v1::IngestResponse response;
      return stream_->Read(&response);
    }
    // The last call: how the stream ended, and the hint in milliseconds ("" = none).
    std::pair<grpc::Status, std::string> End() {
      v1::IngestRequest drain;
      drain.mutable_drain();
      stream_->Write(drain);
      stream_->WritesDone();
      v1::IngestResponse response;
      while (stream_->Read(&response)) {
      }
      const grpc::Status status = stream_->Finish();
      const auto& trailers = context_.GetServerTrailingMetadata();
      const auto hint = trailers.find("grpc-retry-pushback-ms");
      return {status, hint == trailers.end() ? "" : std::string(hint->second.data(), hint->second.size())};
    }

   private:
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReaderWriter<v1::IngestRequest, v1::IngestResponse>> stream_;
  };

  static void ExpectRefused(Stream& stream, const std::string& words) {
    const auto [status, hint] = stream.End();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(words));
    EXPECT_EQ(hint, "5000");
  }

  std::unique_ptr<JobStore> store_;
  std::unique_ptr<AggregatorServer> server_;
  std::unique_ptr<v1::Ingest::Stub> stub_;
};

TEST_F(LimitsTest, AStreamTooManyIsRefusedWithAHintAndTakenLater) {
  Start({.max_streams = 1});
  {
    Stream first(*stub_);
    ASSERT_TRUE(first.Hello("r"));
    Stream second(*stub_);
    EXPECT_FALSE(second.Hello("r"));
    ExpectRefused(second, "--max-streams");
    EXPECT_TRUE(first.End().first.ok());
  }
  Stream third(*stub_);
  EXPECT_TRUE(third.Hello("r"));
}

TEST_F(LimitsTest, WhoHasSeenTheEndOfAStreamMayComeAgainAtOnce) {
  Start({.max_streams = 1});
  for (int i = 0; i < 500; ++i) {
    Stream stream(*stub_);
    ASSERT_TRUE(stream.Hello("r", true)) << i;
    EXPECT_TRUE(store_->LoadRun("r")->data.sources.empty()) << i << ": not replaced, its last agent was still there";
    ASSERT_TRUE(stream.Source(1));
    ASSERT_TRUE(stream.End().first.ok());
  }
}

TEST_F(LimitsTest, FieldsThatNobodyKnowsStayWithNoIdleStream) {
  Start({});
  v1::IngestRequest padded;
  padded.mutable_hello()->set_protocol_version(1);
  padded.mutable_hello()->set_run("r");
  for (int i = 0; i < 2'000'000; ++i) padded.GetReflection()->MutableUnknownFields(&padded)->AddVarint(1000, 1);
  std::vector<std::unique_ptr<Stream>> idle;
  const int64_t before = HeldMiB();
  for (int i = 0; i < 8; ++i) {
    idle.push_back(std::make_unique<Stream>(*stub_));
    ASSERT_TRUE(idle.back()->Ask(padded));
  }
  EXPECT_LT(HeldMiB() - before, 128) << "each of them took 32 MiB for a moment";
}

TEST_F(LimitsTest, ARunTooManyIsRefusedWithAHint) {
  Start({}, {.max_runs = 1});
  Stream known(*stub_);
  ASSERT_TRUE(known.Hello("a"));
  Stream other(*stub_);
  EXPECT_FALSE(other.Hello("b"));
  ExpectRefused(other, "--prune");
  Stream again(*stub_);
  EXPECT_TRUE(again.Hello("a"));
}

TEST_F(LimitsTest, ARankTooManyIsRefusedWithAHint) {
  Start({}, {.max_sources = 1});
  Stream stream(*stub_);
  ASSERT_TRUE(stream.Hello("a") && stream.Source(1));
  EXPECT_FALSE(stream.Source(2));
  ExpectRefused(stream, "--max-ranks");
  EXPECT_EQ(store_->LoadRun("a")->data.sources.size(), 1U);
}

TEST_F(LimitsTest, NamesTooManyAreRefusedWithAHint) {
  Start({}, {.max_names = 1});
  Stream stream(*stub_);
  ASSERT_TRUE(stream.Hello("a") && stream.Source(1));
  Batch batch;
  batch.names = {{.id = 0, .hash = HashOf("a"), .text = "a"}, {.id = 1, .hash = HashOf("b"), .text = "b"}};
  v1::IngestRequest request;
  request.mutable_batch()->set_source_id(UnrankedSource(1).source_id.Bytes());
  request.mutable_batch()->set_body(EncodeBatch(batch));
  request.mutable_batch()->set_content_hash(HashOf(request.batch().body()).Bytes());
  EXPECT_FALSE(stream.Ask(request));
  ExpectRefused(stream, "--max-names");
}

TEST_F(LimitsTest, AMessageTooLargeEndsItsStreamOnly) {
  Start({.max_message_bytes = 1 << 20});
  Stream other(*stub_);
  ASSERT_TRUE(other.Hello("a"));
  Stream stream(*stub_);
  ASSERT_TRUE(stream.Hello("a"));
  v1::IngestRequest request;
  request.mutable_batch()->set_body(std::string(2 << 20, 'x'));
  EXPECT_FALSE(stream.Ask(request));
  EXPECT_EQ(stream.End().first.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(other.Source(1));
}

TEST_F(LimitsTest, ABatchThatDeclaresTooMuchIsRefusedBeforeItIsDecoded) {
  Start({});
  Stream stream(*stub_);
  ASSERT_TRUE(stream.Hello("a") && stream.Source(1));
  v1::Batch bomb;
  bomb.set_version(kBatchVersion);
  bomb.mutable_instances()->set_decoded_bytes(uint32_t{1} << 31);
  bomb.mutable_instances()->set_zstd("short");
  v1::IngestRequest request;
  request.mutable_batch()->set_source_id(UnrankedSource(1).source_id.Bytes());
  request.mutable_batch()->set_body(bomb.SerializeAsString());
  request.mutable_batch()->set_content_hash(HashOf(request.batch().body()).Bytes());
  EXPECT_TRUE(stream.Ask(request)) << "a refusal of the source; the stream goes on";
  EXPECT_TRUE(stream.Source(2));
  EXPECT_TRUE(stream.End().first.ok());
}

// --- a store that takes a tenth of what the agents offer ---

class SlowStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::Status PutBatch(const std::string& run, const Hash128& source, const Hash128& hash,
                        const ReceivedBatch& batch) override {
    const MutexLock lock(mutex_);  // one disk
    WaitUnlessStopped({}, 4'000'000);
    return ForwardingStore::PutBatch(run, source, hash, batch);
  }

 private:
  Mutex mutex_;
};

constexpr int64_t kAgents = 12;
constexpr int64_t kLargeBatches = 20;
constexpr int64_t kRows = 4'096;

// About 60 kB on the wire.
OutgoingBatch LargeBatch(const SourceContext& source, int64_t sequence) {
  Batch batch;
  batch.sequence = sequence;
  if (sequence == 0) {
    batch.names.push_back({.id = 0, .hash = HashOf("ncclKernel"), .text = "ncclKernel"});
    batch.communicators.push_back({.id = 0, .known = true, .group_name = "0", .members = {0, 1}, .size = 2});
  }
  uint64_t noise = source.source_id.low * 1'000 + static_cast<uint64_t>(sequence);
  for (int64_t i = 0; i < kRows; ++i) {
    noise = noise * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
    InstanceRow row;
    row.start_ns = 1'000'000'000 + (sequence * kRows + i) * 10'000'000 + static_cast<int64_t>(noise >> 44);
    row.duration_ns = static_cast<int64_t>(noise >> 40) & 0xffffff;
    row.bytes = static_cast<int64_t>(noise >> 20) & 0xfffffff;
    batch.instances.push_back(row);
  }
  if (sequence + 1 == kLargeBatches) {
    batch.total_batches = kLargeBatches;
    batch.summary.emplace();
  }
  OutgoingBatch out{.source_id = source.source_id, .sequence = sequence, .body = EncodeBatch(batch)};
  out.content_hash = HashOf(out.body);
  return out;
}

absl::Status SendAll(const std::string& address, uint64_t number) {
  UplinkClientOptions options;
  options.session.hello = {.run = "run", .agent = fmt::format("node{}", number), .agent_version = "test"};
  options.back_off = {.initial_ns = 1'000'000, .max_ns = 50'000'000};
  UplinkClient uplink(MakeGrpcTransport(ConnectTo(address)), options, {});
  const SourceContext source = UnrankedSource(number);
  absl::Status status = uplink.BeginSource(source);
  for (int64_t i = 0; i < kLargeBatches && status.ok(); ++i) {
    if (uplink.Wants(source.source_id, i)) status = uplink.Push(LargeBatch(source, i));
  }
  return status.ok() ? uplink.Drain(false).status() : status;
}

// What arrived of each source.
std::map<uint64_t, int64_t> Arrived(JobStore& store) {
  std::map<uint64_t, int64_t> rows;
  const LoadedRun run = store.LoadRun("run").value();
  for (const SourceData& source : run.data.sources) {
    if (source.complete) rows[source.context.source_id.low] = source.instance_count;
  }
  return rows;
}

class SlowStoreTest : public testing::TestWithParam<int64_t> {};

// The second parameter holds less than the agents' messages together: some streams are ended and come again.
TEST_P(SlowStoreTest, HoldsAgentsBackWithinItsBytesAndAllArrives) {
  const auto memory = OpenStore("memory", {}).value();
  SlowStore slow(*memory);
  const int64_t cap = GetParam();
  const auto server =
      AggregatorServer::Start(slow, {.listen = "127.0.0.1:0", .limits = {.max_held_bytes = cap, .max_working = 2}})
          .value();
  std::vector<std::thread> agents;
  for (uint64_t number = 1; number <= kAgents; ++number) {
    agents.emplace_back([&server, number] { EXPECT_EQ(SendAll(server->address(), number), absl::OkStatus()); });
  }
  for (std::thread& agent : agents) agent.join();
  // The last message is given back after its answer, and agents are done with the answer.
  while (server->load().held_bytes != 0) std::this_thread::yield();
  const Admission::Load load = server->load();
  EXPECT_LE(load.most_held_bytes, cap);
  EXPECT_GT(load.most_held_bytes, 0);
  const auto arrived = Arrived(*memory);
  EXPECT_EQ(arrived.size(), static_cast<size_t>(kAgents));
  for (const auto& [source, rows] : arrived) EXPECT_EQ(rows, kLargeBatches * kRows) << source;
}

// Batches of the run "stored" and the dropping of the run "dropped" take until they are let go.
class HeldStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::Status PutBatch(const std::string& run, const Hash128& source, const Hash128& hash,
                        const ReceivedBatch& batch) override {
    if (run == "stored") let_go_.wait();
    return ForwardingStore::PutBatch(run, source, hash, batch);
  }
  absl::Status DropRun(const std::string& run) override {
    if (run == "dropped") let_go_.wait();
    return ForwardingStore::DropRun(run);
  }
  void LetGo() { gate_.set_value(); }

 private:
  std::promise<void> gate_;
  std::shared_future<void> let_go_ = gate_.get_future().share();
};

v1::IngestRequest FirstBatchOf(uint64_t source) {
  const OutgoingBatch batch = LargeBatch(UnrankedSource(source), 0);
  v1::IngestRequest request;
  request.mutable_batch()->set_source_id(batch.source_id.Bytes());
  request.mutable_batch()->set_body(batch.body);
  request.mutable_batch()->set_content_hash(batch.content_hash.Bytes());
  return request;
}

constexpr uint64_t kMoreThanThreads = 60;

TEST_F(LimitsTest, EachChannelHasAConnectionOfItsOwnAndItsStreams) {
  constexpr int kStreamsOfAConnection = 256;
  Start({});
  std::vector<std::unique_ptr<Stream>> full;
  for (int i = 0; i < kStreamsOfAConnection; ++i) {
    ASSERT_TRUE(full.emplace_back(std::make_unique<Stream>(*stub_))->Hello("run")) << i;
  }
  const auto another = v1::Ingest::NewStub(ConnectTo(server_->address()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));  // or it would wait for ever
  const auto stream = another->Stream(&context);
  v1::IngestRequest hello;
  hello.mutable_hello()->set_protocol_version(1);
  hello.mutable_hello()->set_run("run");
  v1::IngestResponse welcome;
  EXPECT_TRUE(stream->Write(hello) && stream->Read(&welcome));
  context.TryCancel();
}

class LanesTest : public LimitsTest {
 protected:
  void SetUp() override {
    server_ =
        AggregatorServer::Start(held_, {.listen = "127.0.0.1:0", .limits = {.max_working = 2}, .grace_ns = 0}).value();
    stub_ = v1::Ingest::NewStub(ConnectTo(server_->address()));
  }
  void TearDown() override {
    held_.LetGo();
    streams_.clear();
    server_.reset();
  }

  Stream& Another() { return *streams_.emplace_back(std::make_unique<Stream>(*stub_)); }

 private:
  const std::unique_ptr<JobStore> memory_ = OpenStore("memory", {}).value();
  HeldStore held_{*memory_};
  std::vector<std::unique_ptr<Stream>> streams_;
};

TEST_F(LanesTest, WhoComesWhileBatchesWaitForTheStoreIsWelcomed) {
  for (uint64_t i = 0; i < kMoreThanThreads; ++i) {
    Stream& stream = Another();
    ASSERT_TRUE(stream.Hello("stored") && stream.Source(i) && stream.Say(FirstBatchOf(i)));
  }
  Stream& other = Another();
  EXPECT_TRUE(other.Hello("other") && other.Source(kMoreThanThreads));
  EXPECT_TRUE(other.End().first.ok());
}

TEST_F(LanesTest, BatchesAreStoredWhileARunIsBeingDropped) {
  Stream& stream = Another();
  ASSERT_TRUE(stream.Hello("other") && stream.Source(1));
  v1::IngestRequest hello;
  hello.mutable_hello()->set_protocol_version(1);
  hello.mutable_hello()->set_run("dropped");
  hello.mutable_hello()->set_replace(true);
  for (uint64_t i = 0; i < kMoreThanThreads; ++i) ASSERT_TRUE(Another().Say(hello));
  EXPECT_TRUE(stream.Ask(FirstBatchOf(1)));
  EXPECT_TRUE(stream.Source(2));
}

INSTANTIATE_TEST_SUITE_P(Caps, SlowStoreTest, testing::Values(int64_t{8} << 20, int64_t{150'000}));

}  // namespace
}  // namespace lockstep
