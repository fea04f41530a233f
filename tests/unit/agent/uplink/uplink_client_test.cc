#include "agent/uplink/uplink_client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "agent/uplink/retry_hint.h"
#include "tests/unit/agent/uplink/fake_aggregator.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::HasSubstr;

UplinkClientOptions FastOptions() {
  UplinkClientOptions options;
  options.session.hello.run = "r";
  options.session.window_batches = 4;
  options.back_off = {.initial_ns = 1000, .max_ns = 1000};
  return options;
}

SourceContext NumberedSource(uint64_t number) {
  SourceContext context;
  context.source_id = {0, number};
  context.path = fmt::format("trace{}", number);
  return context;
}

std::string BodyOf(uint64_t source, int64_t sequence) { return fmt::format("{}/{}", source, sequence); }

absl::Status PushBatches(UplinkClient& client, uint64_t source, int64_t n) {
  absl::Status status = client.BeginSource(NumberedSource(source));
  for (int64_t i = 0; i < n && status.ok(); ++i) {
    if (client.Wants({0, source}, i)) {
      status = client.Push({.source_id = {0, source}, .sequence = i, .content_hash = {}, .body = BodyOf(source, i)});
    }
  }
  return status;
}

std::vector<std::string> Bodies(uint64_t source, int64_t n) {
  std::vector<std::string> bodies;
  for (int64_t i = 0; i < n; ++i) {
    bodies.push_back(BodyOf(source, i));
  }
  return bodies;
}

TEST(UplinkClient, EverythingGivenArrivesInOrder) {
  FakeAggregator aggregator;
  UplinkClient client(aggregator.Transport(), FastOptions(), {});
  ASSERT_EQ(PushBatches(client, 1, 50), absl::OkStatus());
  ASSERT_EQ(client.Drain(false).status(), absl::OkStatus());
  EXPECT_EQ(aggregator.sources().at({0, 1}).bodies, Bodies(1, 50));
}

TEST(UplinkClient, ManyProducersShareOneStream) {
  FakeAggregator aggregator;
  UplinkClient client(aggregator.Transport(), FastOptions(), {});
  std::vector<std::thread> producers;
  for (uint64_t source = 1; source <= 4; ++source) {
    producers.emplace_back([&client, source] { EXPECT_EQ(PushBatches(client, source, 40), absl::OkStatus()); });
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
  ASSERT_TRUE(client.Drain(false).ok());
  for (uint64_t source = 1; source <= 4; ++source) {
    EXPECT_EQ(aggregator.sources().at({0, source}).bodies, Bodies(source, 40));
  }
  EXPECT_EQ(aggregator.streams(), 1);
}

TEST(UplinkClient, TwoFilesWithTheSameSourceSendItOnce) {
  FakeAggregator aggregator;
  UplinkClient client(aggregator.Transport(), FastOptions(), {});
  std::thread twin([&client] { EXPECT_EQ(PushBatches(client, 1, 60), absl::OkStatus()); });
  EXPECT_EQ(PushBatches(client, 1, 60), absl::OkStatus());
  twin.join();
  ASSERT_TRUE(client.Drain(false).ok());
  const auto log = aggregator.sources().at({0, 1});
  EXPECT_EQ(log.bodies, Bodies(1, 60));
  EXPECT_EQ(log.duplicates, 0);
}

// Streams of every length up to a whole conversation break; nothing is lost and nothing arrives out of order.
TEST(UplinkClient, BrokenStreamsLoseNothing) {
  for (size_t length = 0; length < 14; ++length) {
    FakeAggregator aggregator;
    aggregator.BreakAfter({length, length, length + 3});
    UplinkClient client(aggregator.Transport(), FastOptions(), {});
    ASSERT_EQ(PushBatches(client, 1, 9), absl::OkStatus());
    ASSERT_EQ(client.AddNote({.path = "p", .format = {}, .status = {}, .reason = {}, .offset = -1, .drops = {}}),
              absl::OkStatus());
    ASSERT_EQ(client.Drain(true).status(), absl::OkStatus()) << length;
    const auto log = aggregator.sources().at({0, 1});
    EXPECT_EQ(log.bodies, Bodies(1, 9)) << length;
    EXPECT_EQ(log.holes, 0) << length;
    EXPECT_THAT(aggregator.notes(), Contains("p"));
    EXPECT_TRUE(aggregator.finished());
  }
}

TEST(UplinkClient, GoesOnWhereAnEarlierAgentStopped) {
  FakeAggregator aggregator;
  {
    UplinkClient first(aggregator.Transport(), FastOptions(), {});
    ASSERT_TRUE(PushBatches(first, 1, 7).ok());
    aggregator.AwaitBatches(7);
  }
  UplinkClient second(aggregator.Transport(), FastOptions(), {});
  ASSERT_TRUE(PushBatches(second, 1, 12).ok());
  ASSERT_TRUE(second.Drain(false).ok());
  const auto log = aggregator.sources().at({0, 1});
  EXPECT_EQ(log.bodies, Bodies(1, 12));
  EXPECT_EQ(log.duplicates, 0);
}

TEST(UplinkClient, HoldsProducersBackWhileTheWindowIsFull) {
  FakeAggregator aggregator;
  aggregator.HoldAcks();
  std::stop_source stop;
  UplinkClient client(aggregator.Transport(), FastOptions(), stop.get_token());
  std::thread producer([&client] { EXPECT_TRUE(absl::IsCancelled(PushBatches(client, 1, 100))); });
  aggregator.AwaitBatches(4);
  stop.request_stop();
  producer.join();
  EXPECT_EQ(aggregator.sources().at({0, 1}).bodies.size(), 4U);
}

TEST(UplinkClient, GivesUpAnAggregatorThatCannotBeReached) {
  FakeAggregator aggregator;
  aggregator.RefuseWith(absl::UnavailableError("nobody listens"));
  UplinkClientOptions options = FastOptions();
  options.give_up_after_ns = 0;
  UplinkClient client(aggregator.Transport(), options, {});
  const absl::Status status = client.Drain(false).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("nobody listens"));
}

TEST(UplinkClient, TriesUntilTheTimeIsOverByTheClock) {
  FakeAggregator aggregator;
  aggregator.RefuseWith(absl::UnavailableError("nobody listens"));
  ManualClock clock;
  UplinkClientOptions options = FastOptions();
  options.give_up_after_ns = 60'000'000'000;
  options.clock = &clock;
  int attempts = 0;
  options.random = [&] {
    clock.Advance(++attempts < 5 ? 1'000'000'000 : 60'000'000'000);
    return 0.0;
  };
  UplinkClient client(aggregator.Transport(), options, {});
  EXPECT_TRUE(absl::IsUnavailable(client.Drain(false).status()));
  EXPECT_EQ(attempts, 5);
}

TEST(UplinkClient, DoesNotRepeatWhatWouldFailAgain) {
  FakeAggregator aggregator;
  aggregator.RefuseWith(absl::InvalidArgumentError("bad run name"));
  UplinkClient client(aggregator.Transport(), FastOptions(), {});
  EXPECT_TRUE(absl::IsInvalidArgument(client.BeginSource(NumberedSource(1))));
  EXPECT_EQ(aggregator.streams(), 1);
}

TEST(UplinkClient, WithoutATokenOnlyWhoNeverGivesUpTriesAgain) {
  FakeAggregator aggregator;
  aggregator.RefuseWith(absl::UnauthenticatedError("no token"));
  UplinkClient soon(aggregator.Transport(), FastOptions(), {});
  EXPECT_TRUE(absl::IsUnauthenticated(soon.BeginSource(NumberedSource(1))));

  UplinkClientOptions options = FastOptions();
  options.give_up_after_ns.reset();
  int attempts = 0;
  options.random = [&] {
    if (++attempts == 3) aggregator.RefuseWith(absl::OkStatus());
    return 0.5;
  };
  UplinkClient client(aggregator.Transport(), options, {});
  EXPECT_TRUE(PushBatches(client, 1, 2).ok());
  EXPECT_TRUE(client.Drain(false).ok());
  EXPECT_EQ(aggregator.sources()[(Hash128{0, 1})].bodies, Bodies(1, 2));
}

TEST(UplinkClient, ARefusedSourceIsReportedAndTheOthersArrive) {
  FakeAggregator aggregator;
  aggregator.RefuseSource({0, 1});
  UplinkClient client(aggregator.Transport(), FastOptions(), {});
  ASSERT_EQ(PushBatches(client, 1, 20), absl::OkStatus());
  ASSERT_EQ(PushBatches(client, 2, 20), absl::OkStatus());
  const auto summary = client.Drain(false);
  ASSERT_TRUE(summary.ok());
  ASSERT_EQ(summary->refused.size(), 1U);
  EXPECT_EQ(summary->refused[0].path, "trace1");
  EXPECT_EQ(aggregator.sources().at({0, 2}).bodies, Bodies(2, 20));
}

TEST(UplinkClient, ASourceBeyondALimitIsToldToItsGiverAndTheOthersArrive) {
  FakeAggregator aggregator;
  aggregator.PutOff({0, 1}, 0);
  aggregator.PutOff({0, 2}, 3);
  UplinkClient client(aggregator.Transport(), FastOptions(), {});
  EXPECT_TRUE(absl::IsResourceExhausted(PushBatches(client, 1, 10)));
  EXPECT_TRUE(absl::IsResourceExhausted(PushBatches(client, 2, 100)));
  EXPECT_EQ(PushBatches(client, 3, 10), absl::OkStatus());
  const absl::StatusOr<UplinkSummary> summary = client.Drain(false);
  ASSERT_EQ(summary.status(), absl::OkStatus());
  EXPECT_EQ(summary->put_off.size(), 2U);
  EXPECT_EQ(aggregator.sources().at({0, 2}).bodies, Bodies(2, 3));
  EXPECT_EQ(aggregator.sources().at({0, 3}).bodies, Bodies(3, 10));
}

TEST(UplinkClient, WaitsAsLongAsTheAggregatorAsks) {
  FakeAggregator aggregator;
  absl::Status full = absl::ResourceExhaustedError("full");
  SetRetryAfterMs(full, 200);
  aggregator.RefuseWith(full);
  UplinkClientOptions options = FastOptions();
  options.give_up_after_ns = 500'000'000;
  UplinkClient client(aggregator.Transport(), options, {});
  EXPECT_TRUE(absl::IsUnavailable(client.Drain(false).status()));
  EXPECT_LE(aggregator.streams(), 4) << "its own back-off is a microsecond";
}

TEST(UplinkClient, AStopEndsEveryWait) {
  FakeAggregator aggregator;
  aggregator.RefuseWith(absl::UnavailableError("nobody listens"));
  std::stop_source stop;
  UplinkClientOptions options = FastOptions();
  options.back_off = {.initial_ns = int64_t{3'600'000'000'000}, .max_ns = int64_t{3'600'000'000'000}};
  UplinkClient client(aggregator.Transport(), options, stop.get_token());
  std::thread stopper([&] { stop.request_stop(); });
  EXPECT_TRUE(absl::IsCancelled(client.BeginSource(NumberedSource(1))));
  stopper.join();
}

TEST(UplinkClient, DrainEndsAfterItsTime) {
  FakeAggregator aggregator;
  aggregator.RefuseWith(absl::UnavailableError("nobody listens"));
  UplinkClient client(aggregator.Transport(), FastOptions(), {});
  EXPECT_TRUE(absl::IsDeadlineExceeded(client.Drain(false, 1).status()));
}

}  // namespace
}  // namespace lockstep
