#include "aggregator/ingest/ingest_session.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <thread>
#include <vector>

#include "aggregator/store/forwarding_store.h"
#include "aggregator/store/memory/memory_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

const Hash128 kA = {0, 1};
const Hash128 kB = {0, 2};

// A store that says what it is told to when a batch is written.
class TroubledStore : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::Status trouble;

  absl::Status PutBatch(const std::string& run, const Hash128& source, const Hash128& hash,
                        const ReceivedBatch& batch) override {
    return trouble.ok() ? ForwardingStore::PutBatch(run, source, hash, batch) : trouble;
  }
};

// Bodies of these tests: "SEQUENCE" or "SEQUENCE last", perhaps with more words to make another hash.
absl::StatusOr<Batch> DecodeWords(std::string_view body) {
  Batch batch;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), batch.sequence);
  if (error != std::errc()) {
    return absl::InvalidArgumentError("no number");
  }
  if (std::string_view(end, static_cast<size_t>(body.data() + body.size() - end)).starts_with(" last")) {
    batch.total_batches = batch.sequence + 1;
    batch.summary.emplace();
  }
  return batch;
}

SourceContext SourceOf(const Hash128& id) {
  SourceContext context;
  context.source_id = id;
  context.path = fmt::format("trace{}", id.low);
  return context;
}

IngestBatch BatchOf(const Hash128& source, int64_t sequence, std::string_view body) {
  return {.source_id = source, .sequence = sequence, .content_hash = HashOf(body), .body = body};
}

IngestHello HelloOf(const std::string& run, bool replace = false) {
  return {.protocol_version = 1,
          .run = run,
          .agent = "node1",
          .agent_version = "0",
          .expected_ranks = 0,
          .replace = replace};
}

class IngestSessionTest : public testing::Test {
 protected:
  IngestReply Tell(IngestSession& session, const IngestMessage& message) {
    absl::StatusOr<IngestReply> reply = session.On(message);
    EXPECT_EQ(reply.status(), absl::OkStatus());
    return reply.ok() ? *reply : IngestReply();
  }
  IngestReply Tell(const IngestMessage& message) { return Tell(session_, message); }
  std::vector<RunInfo> Runs() { return store_.ListRuns().value(); }

  MemoryStore memory_;
  TroubledStore store_{memory_};
  RunOpener opener_{store_};
  std::vector<std::string> drained_;
  IngestEnvironment environment_{.store = store_,
                                 .opener = opener_,
                                 .limits = {.max_sources = 2},
                                 .decode = DecodeWords,
                                 .on_drained = [this](const std::string& run) { drained_.push_back(run); }};
  IngestSession session_{environment_};
};

TEST_F(IngestSessionTest, WelcomesWithItsLimits) {
  const auto welcome = std::get<IngestWelcome>(Tell(HelloOf("r")));
  EXPECT_EQ(welcome.protocol_version, 1U);
  EXPECT_EQ(welcome.window_batches, environment_.limits.window_batches);
  ASSERT_EQ(Runs().size(), 1U);
  EXPECT_EQ(Runs()[0].name, "r");
}

TEST_F(IngestSessionTest, TheHelloComesFirst) {
  EXPECT_TRUE(absl::IsInvalidArgument(session_.On(SourceOf(kA)).status()));
}

TEST_F(IngestSessionTest, TheHelloComesOnce) {
  Tell(HelloOf("r"));
  EXPECT_TRUE(absl::IsInvalidArgument(session_.On(HelloOf("r")).status()));
}

TEST_F(IngestSessionTest, AnotherProtocolVersionIsRefused) {
  IngestHello hello = HelloOf("r");
  hello.protocol_version = 2;
  EXPECT_THAT(std::string(session_.On(hello).status().message()), HasSubstr("version 2"));
}

TEST_F(IngestSessionTest, BadRunNamesAreRefused) {
  for (const std::string& name : {std::string(), std::string(257, 'x'), std::string("a\nb"), std::string("a\0b", 3)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(session_.On(HelloOf(name)).status())) << name;
  }
}

TEST_F(IngestSessionTest, AnOfferIsAnsweredWithWhatIsNotThere) {
  EXPECT_TRUE(absl::IsInvalidArgument(session_.On(IngestOffer{}).status())) << "before the hello";
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  Tell(BatchOf(kA, 0, "0"));
  const auto lacking = std::get<IngestLacking>(Tell(IngestOffer{.extents = {{kA, 1}, {kB, 1}, {kA, 2}}}));
  EXPECT_EQ(lacking.ids, (std::vector<Hash128>{kB, kA}));
  const IngestOffer too_much{.extents = std::vector<SourceExtent>(1001, {kA, 1})};
  EXPECT_TRUE(absl::IsInvalidArgument(session_.On(too_much).status()));
}

TEST_F(IngestSessionTest, ANewSourceStartsFromNothing) {
  Tell(HelloOf("r"));
  const auto welcome = std::get<IngestSourceWelcome>(Tell(SourceOf(kA)));
  EXPECT_EQ(welcome.source_id, kA);
  EXPECT_EQ(welcome.last_sequence, -1);
  EXPECT_FALSE(welcome.complete);
}

TEST_F(IngestSessionTest, AcknowledgesWhatIsStored) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  EXPECT_EQ(std::get<IngestAck>(Tell(BatchOf(kA, 0, "0"))).sequence, 0);
  const auto last = std::get<IngestAck>(Tell(BatchOf(kA, 1, "1 last")));
  EXPECT_EQ(last.sequence, 1);
  EXPECT_TRUE(last.complete);
  EXPECT_EQ(Runs()[0].complete_sources, 1);
}

TEST_F(IngestSessionTest, ALaterStreamGoesOnWhereTheFirstStopped) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  Tell(BatchOf(kA, 0, "0"));
  IngestSession again(environment_);
  Tell(again, HelloOf("r"));
  EXPECT_EQ(std::get<IngestSourceWelcome>(Tell(again, SourceOf(kA))).last_sequence, 0);
}

TEST_F(IngestSessionTest, TheSameBatchAgainChangesNothing) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  Tell(BatchOf(kA, 0, "0"));
  Tell(BatchOf(kA, 1, "1"));
  EXPECT_EQ(std::get<IngestAck>(Tell(BatchOf(kA, 0, "0"))).sequence, 0);
  EXPECT_EQ(std::get<IngestAck>(Tell(BatchOf(kA, 1, "1"))).sequence, 1);
}

TEST_F(IngestSessionTest, AnotherContentForAKnownSequenceRefusesTheSource) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  Tell(BatchOf(kA, 0, "0"));
  const auto refusal = std::get<IngestRefusal>(Tell(BatchOf(kA, 0, "0 other")));
  EXPECT_EQ(refusal.reason, "conflicting_batch");
  EXPECT_EQ(refusal.sequence, 0);
}

TEST_F(IngestSessionTest, AfterARefusalOtherSourcesGoOn) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  Tell(SourceOf(kB));
  Tell(BatchOf(kA, 0, "0"));
  Tell(BatchOf(kA, 0, "0 other"));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Tell(BatchOf(kA, 1, "1"))));
  EXPECT_EQ(std::get<IngestAck>(Tell(BatchOf(kB, 0, "0"))).sequence, 0);
}

TEST_F(IngestSessionTest, ADamagedBodyRefusesTheSource) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  IngestBatch batch = BatchOf(kA, 0, "0");
  batch.body = "0 changed on the way";
  EXPECT_EQ(std::get<IngestRefusal>(Tell(batch)).reason, "damaged_batch");
}

TEST_F(IngestSessionTest, ABodyThatDoesNotDecodeRefusesTheSource) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  const auto refusal = std::get<IngestRefusal>(Tell(BatchOf(kA, 0, "nonsense")));
  EXPECT_EQ(refusal.reason, "undecodable_batch");
  EXPECT_EQ(refusal.detail, "no number");
}

TEST_F(IngestSessionTest, AnEnvelopeWithAnotherSequenceThanItsBodyRefusesTheSource) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  EXPECT_EQ(std::get<IngestRefusal>(Tell(BatchOf(kA, 0, "1"))).reason, "undecodable_batch");
}

TEST_F(IngestSessionTest, ABatchOfAnUnannouncedSourceEndsTheStream) {
  Tell(HelloOf("r"));
  EXPECT_TRUE(absl::IsInvalidArgument(session_.On(BatchOf(kA, 0, "0")).status()));
}

TEST_F(IngestSessionTest, AHoleEndsTheStream) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  EXPECT_TRUE(absl::IsOutOfRange(session_.On(BatchOf(kA, 1, "1")).status()));
}

TEST_F(IngestSessionTest, NothingIsAcknowledgedThatCouldNotBeWritten) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  store_.trouble = absl::ResourceExhaustedError("disk full");
  EXPECT_TRUE(absl::IsResourceExhausted(session_.On(BatchOf(kA, 0, "0")).status()));
}

TEST_F(IngestSessionTest, TooManySourcesEndTheStream) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  Tell(SourceOf(kB));
  EXPECT_TRUE(absl::IsResourceExhausted(session_.On(SourceOf({0, 3})).status()));
}

// --- a limit of the run, told to an agent that understands it ---

class LimitedSessionTest : public testing::Test {
 protected:
  IngestReply Tell(const IngestMessage& message) { return session_.On(message).value(); }
  void Begin(bool parks) {
    IngestHello hello = HelloOf("r");
    hello.parks = parks;
    Tell(hello);
  }
  static int64_t RetryAfterMs(const IngestReply& reply) { return std::get<IngestRefusal>(reply).retry_after_ms; }

  MemoryStore memory_{SystemClock(), {.max_sources = 1, .max_names = 1, .max_files = 1}};
  TroubledStore store_{memory_};
  RunOpener opener_{store_};
  const IngestEnvironment environment_{.store = store_, .opener = opener_, .limits = {}, .decode = &DecodeWords};
  IngestSession session_{environment_};
};

TEST_F(LimitedSessionTest, ASourceTooManyWaitsAndTheOthersGoOn) {
  Begin(/*parks=*/true);
  Tell(SourceOf(kA));
  EXPECT_GT(RetryAfterMs(Tell(SourceOf(kB))), 0);
  EXPECT_EQ(std::get<IngestAck>(Tell(BatchOf(kA, 0, "0"))).sequence, 0);
}

TEST_F(LimitedSessionTest, ABatchBeyondALimitPutsItsSourceOffUntilItIsAnnouncedAgain) {
  Begin(/*parks=*/true);
  Tell(SourceOf(kA));
  Tell(BatchOf(kA, 0, "0"));
  store_.trouble = CheckNames({.max_names = 1}, "r", 2);
  EXPECT_GT(RetryAfterMs(Tell(BatchOf(kA, 1, "1"))), 0);
  store_.trouble = absl::OkStatus();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(Tell(BatchOf(kA, 2, "2")))) << "sent before the answer was read";
  EXPECT_EQ(std::get<IngestSourceWelcome>(Tell(SourceOf(kA))).last_sequence, 0);
  EXPECT_EQ(std::get<IngestAck>(Tell(BatchOf(kA, 1, "1"))).sequence, 1);
}

TEST_F(LimitedSessionTest, ANoteTooManyIsToldAndTheOthersCountOn) {
  Begin(/*parks=*/true);
  const auto note = [](const char* path) {
    return FileNote{.path = path, .format = {}, .status = {}, .reason = {}, .offset = -1, .drops = {}, .host = {}};
  };
  EXPECT_EQ(std::get<IngestFilesStored>(Tell(note("a"))).count, 1);
  const auto too_many = std::get<IngestFilesStored>(Tell(note("b")));
  EXPECT_EQ(too_many.count, 1);
  EXPECT_GT(too_many.retry_after_ms, 0);
  EXPECT_EQ(std::get<IngestFilesStored>(Tell(note("a"))).count, 2);
}

TEST_F(LimitedSessionTest, AnAgentThatDoesNotUnderstandItLosesItsStreamOnly) {
  Begin(/*parks=*/false);
  Tell(SourceOf(kA));
  EXPECT_TRUE(absl::IsResourceExhausted(session_.On(SourceOf(kB)).status()));
}

TEST_F(LimitedSessionTest, AFullDiskIsNoLimitOfOneSource) {
  Begin(/*parks=*/true);
  Tell(SourceOf(kA));
  store_.trouble = absl::ResourceExhaustedError("the disk is full");
  EXPECT_TRUE(absl::IsResourceExhausted(session_.On(BatchOf(kA, 0, "0")).status()));
}

TEST_F(IngestSessionTest, AKnownSourceAnnouncedAgainTakesNoPlace) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  Tell(SourceOf(kB));
  EXPECT_TRUE(std::holds_alternative<IngestSourceWelcome>(Tell(SourceOf(kA))));
}

TEST_F(IngestSessionTest, KeepsFileNotes) {
  Tell(HelloOf("r"));
  Tell(FileNote{.path = "x.txt", .format = "", .status = "skipped", .reason = "text", .offset = -1, .drops = {}});
  EXPECT_EQ(store_.LoadRun("r")->data.files.at(0).path, "x.txt");
}

TEST_F(IngestSessionTest, SaysHowManyFileNotesAreStored) {
  Tell(HelloOf("r"));
  for (int64_t i = 1; i <= 3; ++i) {
    const FileNote note{
        .path = std::to_string(i), .format = "", .status = "used", .reason = "", .offset = -1, .drops = {}};
    EXPECT_EQ(std::get<IngestFilesStored>(Tell(note)).count, i);
  }
}

TEST_F(IngestSessionTest, FinishMakesTheRunComplete) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  Tell(BatchOf(kA, 0, "0 last"));
  Tell(IngestFinish{});
  EXPECT_TRUE(Runs()[0].finished_by_hand);
  EXPECT_EQ(Runs()[0].state, RunState::kComplete);
}

TEST_F(IngestSessionTest, ADrainIsAnsweredAndTold) {
  Tell(HelloOf("r"));
  EXPECT_TRUE(std::holds_alternative<IngestDrained>(Tell(IngestDrain{})));
  EXPECT_EQ(drained_, std::vector<std::string>{"r"});
}

TEST_F(IngestSessionTest, ReplaceDropsWhatWasThere) {
  {
    IngestSession old(environment_);
    Tell(old, HelloOf("r"));
    Tell(old, SourceOf(kA));
  }
  Tell(HelloOf("r", true));
  EXPECT_EQ(Runs()[0].sources, 0);
}

TEST_F(IngestSessionTest, OfTwoReplacingAgentsTheSecondDropsNothing) {
  Tell(HelloOf("r", true));
  Tell(SourceOf(kA));
  IngestSession second(environment_);
  Tell(second, HelloOf("r", true));
  EXPECT_EQ(Runs()[0].sources, 1);
}

TEST_F(IngestSessionTest, AfterAllReplacingStreamsAreOverReplaceDropsAgain) {
  {
    IngestSession first(environment_);
    Tell(first, HelloOf("r", true));
    Tell(first, SourceOf(kA));
  }
  Tell(HelloOf("r", true));
  EXPECT_EQ(Runs()[0].sources, 0);
}

TEST_F(IngestSessionTest, ManySessionsWriteOneRunAtOnce) {
  std::vector<std::thread> agents;
  for (uint64_t source = 1; source <= 4; ++source) {
    agents.emplace_back([this, source] {
      IngestSession session(environment_);
      Tell(session, HelloOf("r"));
      Tell(session, SourceOf({0, source}));
      for (int64_t i = 0; i < 20; ++i) {
        const std::string body = fmt::format("{}{}", i, i == 19 ? " last" : "");
        EXPECT_EQ(std::get<IngestAck>(Tell(session, BatchOf({0, source}, i, body))).sequence, i);
      }
    });
  }
  for (std::thread& agent : agents) {
    agent.join();
  }
  EXPECT_EQ(Runs()[0].complete_sources, 4);
}

// Found by tests/fuzz/ingest_fuzzer: what was acknowledged before a replacement is not there after it.
TEST_F(IngestSessionTest, AfterAnotherAgentsReplacementOnlyWhatIsThereIsAcknowledged) {
  Tell(HelloOf("r"));
  Tell(SourceOf(kA));
  Tell(BatchOf(kA, 0, "0"));
  Tell(BatchOf(kA, 1, "1 last"));
  IngestSession other(environment_);
  Tell(other, HelloOf("r", true));
  Tell(other, SourceOf(kA));
  const IngestReply reply = Tell(BatchOf(kA, 0, "0"));
  ASSERT_TRUE(std::holds_alternative<IngestAck>(reply));
  EXPECT_EQ(std::get<IngestAck>(reply).sequence, 0);
  EXPECT_FALSE(std::get<IngestAck>(reply).complete);
}

}  // namespace
}  // namespace lockstep
