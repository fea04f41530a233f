#include "agent/spool/spool_sender.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/base/status_macros.h"
#include "platform/log.h"
#include "platform/temp_dir.h"
#include "tests/unit/agent/uplink/fake_aggregator.h"

namespace lockstep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kBatches = 9;  // a source
constexpr int64_t kLongNs = 60'000'000'000;

SourceContext SourceOf(uint64_t number) {
  SourceContext context;
  context.source_id = {0, number};
  context.path = fmt::format("trace{}", number);
  return context;
}

FileNote NoteFor(const std::string& path) {
  return {.path = path, .format = {}, .status = {}, .reason = {}, .offset = -1, .drops = {}, .host = {}};
}

std::string BatchBody(uint64_t source, int64_t sequence) { return fmt::format("{}/{}", source, sequence); }

std::vector<std::string> Bodies(uint64_t source) {
  std::vector<std::string> bodies;
  for (int64_t i = 0; i < kBatches; ++i) {
    bodies.push_back(BatchBody(source, i));
  }
  return bodies;
}

// Contexts and notes by their paths alone.
SpoolCodec Codec() {
  return {
      .encode_context = [](const SourceContext& context) { return context.source_id.Bytes() + context.path; },
      .decode_context = [](std::string_view bytes) -> absl::StatusOr<SourceContext> {
        SourceContext context;
        context.source_id = Hash128::FromBytes(bytes.substr(0, 16));
        context.path = bytes.substr(16);
        return context;
      },
      .encode_note = [](const FileNote& note) { return note.path; },
      .decode_note = [](std::string_view bytes) -> absl::StatusOr<FileNote> { return NoteFor(std::string(bytes)); }};
}

// Ledger, spool and sender of one agent process.
class Agent {
 public:
  Agent(const std::string& folder, FakeAggregator& aggregator, bool start = true)
      : ledger_(Ledger::Open(folder + "/ledger", "r", [](const std::string&) { return true; }).value()),
        spool_(Spool::Open({.folder = folder, .segment_bytes = 300}, ledger_->acknowledged()).value()),
        sender_(*spool_, *ledger_, codec_,
                [this](const std::vector<std::string>& paths, std::string_view) {
                  const MutexLock lock(mutex_);
                  again_.insert(again_.end(), paths.begin(), paths.end());
                }),
        uplink_(aggregator.Transport(), Options(), stop_.get_token()) {
    if (start) {
      Start();
    }
  }
  ~Agent() {
    stop_.request_stop();
    EXPECT_EQ(sender_.Stop(), absl::OkStatus());
  }

  void Start() { sender_.Start(uplink_); }

  // As for a file with one source: everything is in the spool when it returns.
  absl::Status TakeFile(uint64_t source) {
    const std::string path = SourceOf(source).path;
    SpoolOutlet outlet(*spool_, codec_);
    ledger_->Take({.path = path}, {});
    LOCKSTEP_RETURN_IF_ERROR(outlet.BeginSource(SourceOf(source)));
    for (int64_t i = 0; i < kBatches; ++i) {
      if (outlet.Wants({0, source}, i)) {
        LOCKSTEP_RETURN_IF_ERROR(
            outlet.Push({.source_id = {0, source}, .sequence = i, .content_hash = {}, .body = BatchBody(source, i)}));
      }
    }
    LOCKSTEP_RETURN_IF_ERROR(outlet.AddNote(NoteFor(path)));
    ledger_->Spooled(path, {{{0, source}, kBatches}, {outlet.IdOf(NoteFor(path)), 1}});
    return absl::OkStatus();
  }
  absl::Status Drain(int64_t within_ns = kLongNs) { return sender_.Drain(within_ns); }
  std::vector<std::string> again() {
    const MutexLock lock(mutex_);
    return again_;
  }
  Ledger& ledger() { return *ledger_; }
  Spool& spool() { return *spool_; }
  SpoolSender& sender() { return sender_; }

 private:
  UplinkClientOptions Options() {
    UplinkClientOptions options;
    options.session.hello.run = "r";
    options.session.window_batches = 4;
    options.session.can_begin_anew = true;
    options.session.observer = &sender_;
    options.back_off = {.initial_ns = 1000, .max_ns = 1000};
    options.give_up_after_ns.reset();
    return options;
  }

  const SpoolCodec codec_ = Codec();
  std::stop_source stop_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Spool> spool_;
  Mutex mutex_;
  std::vector<std::string> again_ LOCKSTEP_GUARDED_BY(mutex_);
  SpoolSender sender_;
  UplinkClient uplink_;
};

class SpoolSenderTest : public testing::Test {
 protected:
  SpoolSenderTest() {
    SetLogLevel(LogLevel::kOff);
    aggregator_.CompleteAfter(kBatches);
  }
  const TempDir folder_ = TempDir::Create("", "lockstep-sender-test-").value();
  FakeAggregator aggregator_;
};

TEST_F(SpoolSenderTest, WhatIsInTheSpoolArrivesAndIsDelivered) {
  Agent agent(folder_.path(), aggregator_);
  for (uint64_t source = 1; source <= 5; ++source) {
    ASSERT_EQ(agent.TakeFile(source), absl::OkStatus());
  }
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  for (uint64_t source = 1; source <= 5; ++source) {
    EXPECT_EQ(aggregator_.sources().at({0, source}).bodies, Bodies(source));
    EXPECT_EQ(agent.ledger().StateOf(SourceOf(source).path), FileState::kDelivered);
  }
  EXPECT_EQ(aggregator_.notes().size(), 5U);
}

TEST_F(SpoolSenderTest, ADeliveredSpoolIsEmpty) {
  {
    Agent agent(folder_.path(), aggregator_);
    ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
    ASSERT_EQ(agent.Drain(), absl::OkStatus());
  }
  EXPECT_THAT(NamesIn(folder_.path()).value(), ElementsAre("ledger"));
}

// Streams of every length up to a whole conversation break; nothing is lost, doubled or out of order.
TEST_F(SpoolSenderTest, ADisconnectAtEveryMessageLosesNothing) {
  for (size_t length = 0; length < 26; ++length) {
    FakeAggregator aggregator;
    aggregator.CompleteAfter(kBatches);
    aggregator.BreakAfter({length, length, length + 1, length + 5});
    const TempDir folder = TempDir::Create("", "lockstep-sender-test-").value();
    Agent agent(folder.path(), aggregator);
    ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
    ASSERT_EQ(agent.TakeFile(2), absl::OkStatus());
    ASSERT_EQ(agent.Drain(), absl::OkStatus()) << length;
    for (uint64_t source = 1; source <= 2; ++source) {
      EXPECT_EQ(aggregator.sources().at({0, source}).bodies, Bodies(source)) << length;
      EXPECT_EQ(aggregator.sources().at({0, source}).holes, 0) << length;
      EXPECT_THAT(aggregator.notes(), Contains(SourceOf(source).path));
      EXPECT_EQ(agent.ledger().StateOf(SourceOf(source).path), FileState::kDelivered);
    }
  }
}

TEST_F(SpoolSenderTest, AnAgentStartedAgainSendsWhatAnEarlierOneTook) {
  aggregator_.RefuseWith(absl::UnavailableError("nobody listens"));
  {
    Agent agent(folder_.path(), aggregator_);
    ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
    EXPECT_TRUE(absl::IsDeadlineExceeded(agent.Drain(1'000'000)));
  }
  aggregator_.RefuseWith(absl::OkStatus());
  Agent agent(folder_.path(), aggregator_);
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_EQ(aggregator_.sources().at({0, 1}).bodies, Bodies(1));
  EXPECT_THAT(aggregator_.notes(), ElementsAre("trace1"));
}

TEST_F(SpoolSenderTest, ADeliveredFileIsNotSentAgain) {
  for (int i = 0; i < 2; ++i) {
    Agent agent(folder_.path(), aggregator_);
    ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
    ASSERT_EQ(agent.Drain(), absl::OkStatus());
  }
  EXPECT_EQ(aggregator_.sources().at({0, 1}).duplicates, 0);
}

TEST_F(SpoolSenderTest, ARefusedSourceIsLetGoAndTheOthersArrive) {
  aggregator_.RefuseSource({0, 1});
  Agent agent(folder_.path(), aggregator_);
  ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
  ASSERT_EQ(agent.TakeFile(2), absl::OkStatus());
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_EQ(agent.sender().refused(), 1);
  EXPECT_EQ(aggregator_.sources().at({0, 2}).bodies, Bodies(2));
  EXPECT_EQ(agent.ledger().StateOf("trace1"), FileState::kDelivered);
}

// More of them than are looked at in one go.
TEST_F(SpoolSenderTest, SourcesBeyondALimitWaitAndTheOthersArrive) {
  for (uint64_t source = 1; source <= 70; ++source) {
    aggregator_.PutOff({0, source}, source % 2 == 0 ? 0 : 4);
  }
  Agent agent(folder_.path(), aggregator_);
  for (uint64_t source = 1; source <= 72; ++source) {
    ASSERT_EQ(agent.TakeFile(source), absl::OkStatus());
  }
  EXPECT_TRUE(agent.sender().PutOff().ok() || agent.spool().State().parked > 0);
  while (agent.ledger().StateOf("trace71") != FileState::kDelivered ||
         agent.ledger().StateOf("trace72") != FileState::kDelivered) {
    agent.spool().AwaitNews(agent.spool().News(), 10'000'000);
  }
  EXPECT_EQ(agent.ledger().StateOf("trace1"), FileState::kSpooled);
  EXPECT_TRUE(absl::IsDeadlineExceeded(agent.Drain(1'000'000)));
  for (uint64_t source = 1; source <= 70; ++source) {
    aggregator_.PutOff({0, source}, std::nullopt);
  }
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  for (uint64_t source = 1; source <= 72; ++source) {
    EXPECT_EQ(aggregator_.sources().at({0, source}).bodies, Bodies(source));
    EXPECT_EQ(aggregator_.sources().at({0, source}).holes, 0);
  }
  EXPECT_TRUE(agent.sender().PutOff().ok());
}

// The aggregator was restored from an older copy: it lacks batches that have already left the spool.
TEST_F(SpoolSenderTest, WhatTheAggregatorHasLostIsCondensedAgain) {
  aggregator_.CompleteAfter(-1);
  {
    Agent agent(folder_.path(), aggregator_);
    ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
    ASSERT_EQ(agent.Drain(), absl::OkStatus());
  }
  aggregator_.CompleteAfter(kBatches + 1);
  aggregator_.RollBack({0, 1}, 4);
  Agent agent(folder_.path(), aggregator_);
  ASSERT_EQ(agent.spool().Put(FrameKind::kContext, {0, 1}, 0, Codec().encode_context(SourceOf(1))), absl::OkStatus());
  agent.ledger().Take({.path = "trace1"}, {});
  agent.ledger().Spooled("trace1", {{{0, 1}, kBatches + 1}});
  agent.ledger().Acknowledge({0, 1}, kBatches - 1);
  agent.spool().Rewind({0, 1}, kBatches - 1);
  ASSERT_EQ(agent.spool().Put(FrameKind::kContext, {0, 1}, 0, Codec().encode_context(SourceOf(1))), absl::OkStatus());
  ASSERT_EQ(agent.spool().Put(FrameKind::kBatch, {0, 1}, kBatches, "1/9"), absl::OkStatus());
  while (agent.again().empty()) {
    agent.spool().AwaitNews(agent.spool().News(), 1'000'000);
  }
  EXPECT_THAT(agent.again(), ElementsAre("trace1"));
  EXPECT_EQ(agent.spool().Range({0, 1}), std::pair(int64_t{4}, int64_t{4}));
}

// An older copy of the store under an aggregator that was started again.
TEST_F(SpoolSenderTest, WhatAnAggregatorWithAnOlderStoreLacksOfDeliveredFilesIsCondensedAgain) {
  aggregator_.OpenStore(1);
  Agent agent(folder_.path(), aggregator_);
  for (uint64_t source = 1; source <= 3; ++source) {
    ASSERT_EQ(agent.TakeFile(source), absl::OkStatus());
  }
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_THAT(agent.again(), IsEmpty());
  aggregator_.RollBack({0, 2}, 4);
  aggregator_.ForgetNotes();
  aggregator_.OpenStore(2);
  aggregator_.AwaitOffered(6);
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_THAT(agent.again(), testing::UnorderedElementsAre("trace1", "trace2", "trace3")) << "notes count, too";
  for (uint64_t source = 1; source <= 3; ++source) {
    ASSERT_EQ(agent.TakeFile(source), absl::OkStatus());
  }
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_EQ(aggregator_.sources().at({0, 2}).bodies, Bodies(2));
  EXPECT_EQ(aggregator_.sources().at({0, 1}).duplicates, 0);
  EXPECT_THAT(aggregator_.notes(), testing::UnorderedElementsAre("trace1", "trace2", "trace3"));
}

TEST_F(SpoolSenderTest, AnAgentStartedAgainAsksWhetherWhatItGaveIsStillThere) {
  aggregator_.OpenStore(1);
  {
    Agent agent(folder_.path(), aggregator_);
    ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
    ASSERT_EQ(agent.Drain(), absl::OkStatus());
  }
  aggregator_.RollBack({0, 1}, 0);
  Agent agent(folder_.path(), aggregator_);
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_THAT(agent.again(), ElementsAre("trace1"));
}

TEST_F(SpoolSenderTest, ALostConnectionAloneAsksNothing) {
  aggregator_.OpenStore(1);
  aggregator_.BreakAfter({1, 5, 7});
  Agent agent(folder_.path(), aggregator_);
  ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_EQ(aggregator_.offered(), 0);
}

TEST_F(SpoolSenderTest, AStoreIsNotAskedForWhatItHasAcknowledgedItselfHoweverLateItsWelcomeIsLookedAt) {
  aggregator_.OpenStore(1);
  aggregator_.RefuseWith(absl::UnavailableError("nobody listens"));
  Agent agent(folder_.path(), aggregator_, /*start=*/false);
  ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
  agent.sender().OnAcknowledged({0, 2}, 0, /*complete=*/true);  // of the store before
  agent.sender().OnWelcome(1);
  agent.sender().OnAcknowledged({0, 3}, 0, /*complete=*/true);
  agent.sender().OnNoteStored({0, 4});
  aggregator_.RefuseWith(absl::OkStatus());
  agent.Start();
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_EQ(aggregator_.offered(), 1);
}

TEST_F(SpoolSenderTest, WhatAStoreThatIsGoneAcknowledgedInPartStaysInTheSpool) {
  aggregator_.OpenStore(1);
  aggregator_.RefuseWith(absl::UnavailableError("nobody listens"));
  Agent agent(folder_.path(), aggregator_, /*start=*/false);
  ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
  agent.sender().OnAcknowledged({0, 1}, 5, /*complete=*/false);
  agent.sender().OnWelcome(1);
  aggregator_.RefuseWith(absl::OkStatus());
  agent.Start();
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_THAT(agent.again(), IsEmpty());
  EXPECT_EQ(aggregator_.sources().at({0, 1}).bodies, Bodies(1));
}

TEST_F(SpoolSenderTest, ASourceThatIsTakenAgainAfterItsEndIsLetGo) {
  Agent agent(folder_.path(), aggregator_);
  ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  agent.spool().Rewind({0, 1}, -1);
  ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_EQ(agent.ledger().StateOf("trace1"), FileState::kDelivered);
  EXPECT_EQ(aggregator_.sources().at({0, 1}).duplicates, 0);
}

TEST_F(SpoolSenderTest, ASegmentThatVanishesWhileItIsNeededIsCondensedAgain) {
  aggregator_.RefuseWith(absl::UnavailableError("nobody listens"));
  Agent agent(folder_.path(), aggregator_);
  ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
  const std::vector<std::string> names = NamesIn(folder_.path()).value();
  ASSERT_EQ(RemoveFile(folder_.path() + "/" + names[1]), absl::OkStatus());
  aggregator_.RefuseWith(absl::OkStatus());
  while (agent.again().empty()) {
    agent.spool().AwaitNews(agent.spool().News(), 1'000'000);
  }
  EXPECT_THAT(agent.again(), ElementsAre("trace1"));
  ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
  ASSERT_EQ(agent.Drain(), absl::OkStatus());
  EXPECT_EQ(aggregator_.sources().at({0, 1}).bodies, Bodies(1));
}

TEST_F(SpoolSenderTest, AnAggregatorThatCannotBeWorkedWithEndsTheDrain) {
  aggregator_.RefuseWith(absl::InvalidArgumentError("bad run name"));
  Agent agent(folder_.path(), aggregator_);
  ASSERT_EQ(agent.TakeFile(1), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(agent.Drain()));
}

}  // namespace
}  // namespace lockstep
