#include "agent/uplink/uplink_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/uplink/retry_hint.h"
#include "tests/unit/agent/uplink/two_sources.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SourceContext SourceOf(const Hash128& id) {
  SourceContext context;
  context.source_id = id;
  context.path = "trace" + std::to_string(id.low);
  return context;
}

OutgoingBatchPtr BatchOf(const Hash128& source, int64_t sequence) {
  return std::make_shared<const OutgoingBatch>(
      OutgoingBatch{.source_id = source, .sequence = sequence, .content_hash = {}, .body = "body"});
}

std::string WordFor(const UplinkMessage& message) {
  struct Words {
    std::string operator()(const UplinkHello& hello) const { return hello.replace ? "hello, replace" : "hello"; }
    std::string operator()(const SourceContext& source) const {
      return "source " + std::to_string(source.source_id.low);
    }
    std::string operator()(const OutgoingBatchPtr& batch) const {
      return "batch " + std::to_string(batch->source_id.low) + "/" + std::to_string(batch->sequence);
    }
    std::string operator()(const FileNote& note) const { return "note " + note.path; }
    std::string operator()(const UplinkOffer& offer) const { return "offer " + std::to_string(offer.extents.size()); }
    std::string operator()(const FinishRun&) const { return "finish"; }
    std::string operator()(const DrainRequest&) const { return "drain"; }
  };
  return std::visit(Words(), message);
}

class UplinkSessionTest : public testing::Test {
 protected:
  // Everything that the session wants to say now.
  std::vector<std::string> Said() {
    std::vector<std::string> words;
    while (const auto message = session_.NextMessage()) {
      words.push_back(WordFor(*message));
    }
    return words;
  }
  // A fresh stream up to the welcome.
  void Connect() {
    session_.OnConnected();
    Said();
    Hear(WelcomeEvent{.protocol_version = 1, .max_message_bytes = 10'000, .window_batches = 4});
  }
  void Hear(const UplinkEvent& event) { ASSERT_EQ(session_.OnEvent(event), absl::OkStatus()); }
  void HearWelcome(const Hash128& source, int64_t last_sequence = -1, bool complete = false) {
    Hear(SourceWelcomeEvent{.source_id = source, .last_sequence = last_sequence, .complete = complete});
  }
  void Give(const Hash128& source, int64_t sequence) {
    ASSERT_EQ(session_.AddBatch(BatchOf(source, sequence)), absl::OkStatus());
  }
  void WelcomeBoth() {
    session_.AddSource(SourceOf(kA));
    session_.AddSource(SourceOf(kB));
    Connect();
    Said();
    HearWelcome(kA);
    HearWelcome(kB);
  }

  UplinkSession session_{{.hello = {.run = "r"}, .window_batches = 4, .window_bytes = 1000}};
};

TEST_F(UplinkSessionTest, SaysNothingButHelloBeforeTheWelcome) {
  session_.AddSource(SourceOf(kA));
  session_.OnConnected();
  EXPECT_THAT(Said(), ElementsAre("hello"));
}

TEST_F(UplinkSessionTest, AnnouncesSourcesAfterTheWelcome) {
  session_.AddSource(SourceOf(kB));
  session_.AddSource(SourceOf(kA));
  Connect();
  EXPECT_THAT(Said(), ElementsAre("source 1", "source 2"));
}

TEST_F(UplinkSessionTest, AnEqualCopyOfAFileIsAnnouncedIfItTellsTheRankBetter) {
  session_.AddSource(SourceOf(kA));
  Connect();
  EXPECT_THAT(Said(), ElementsAre("source 1"));
  session_.AddSource(SourceOf(kA));
  EXPECT_THAT(Said(), IsEmpty());
  SourceContext copy = SourceOf(kA);
  copy.path = "copy.json";
  session_.AddSource(copy);
  EXPECT_THAT(Said(), IsEmpty());
  copy.path = "rank1.json";
  copy.claims = {RankClaim{.rank = 1, .source = RankSource::kFileName}};
  session_.AddSource(copy);
  EXPECT_THAT(Said(), ElementsAre("source 1"));
  HearWelcome(kA);
  Give(kA, 0);
  HearWelcome(kA, -1);
  EXPECT_TRUE(session_.Wants(kA, 1)) << "what was given is not given again";
}

TEST_F(UplinkSessionTest, SkipsWhatTheAggregatorHas) {
  session_.AddSource(SourceOf(kA));
  Connect();
  Said();
  EXPECT_FALSE(session_.SourceReady(kA));
  HearWelcome(kA, 4);
  EXPECT_TRUE(session_.SourceReady(kA));
  EXPECT_FALSE(session_.Wants(kA, 4));
  EXPECT_TRUE(session_.Wants(kA, 5));
  EXPECT_FALSE(session_.Wants(kA, 6));
}

TEST_F(UplinkSessionTest, WantsNothingOfACompleteSource) {
  session_.AddSource(SourceOf(kA));
  Connect();
  HearWelcome(kA, 4, true);
  EXPECT_FALSE(session_.Wants(kA, 5));
}

TEST_F(UplinkSessionTest, SendsEachBatchOnceAStream) {
  session_.AddSource(SourceOf(kA));
  Connect();
  Said();
  HearWelcome(kA);
  Give(kA, 0);
  Give(kA, 1);
  EXPECT_THAT(Said(), ElementsAre("batch 1/0", "batch 1/1"));
  EXPECT_THAT(Said(), IsEmpty());
}

TEST_F(UplinkSessionTest, SaysAgainWhatWasNotAcknowledgedOnTheNextStream) {
  session_.AddSource(SourceOf(kA));
  session_.AddNote({.path = "p", .format = {}, .status = {}, .reason = {}, .offset = -1, .drops = {}});
  Connect();
  Said();
  HearWelcome(kA);
  Give(kA, 0);
  Give(kA, 1);
  Said();
  Hear(AckEvent{.source_id = kA, .sequence = 0, .complete = false});
  session_.OnDisconnected();
  Connect();
  EXPECT_THAT(Said(), ElementsAre("source 1", "note p"));
  HearWelcome(kA, 0);
  EXPECT_THAT(Said(), ElementsAre("batch 1/1"));
}

TEST_F(UplinkSessionTest, AWelcomeThatKnowsMoreThanTheAcknowledgementsSavesSending) {
  session_.AddSource(SourceOf(kA));
  Connect();
  Said();
  HearWelcome(kA);
  Give(kA, 0);
  Said();
  session_.OnDisconnected();
  Connect();
  Said();
  HearWelcome(kA, 0);
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_TRUE(session_.Wants(kA, 1));
}

TEST_F(UplinkSessionTest, DoesNotAnnounceCompleteSourcesAgain) {
  session_.AddSource(SourceOf(kA));
  Connect();
  Said();
  HearWelcome(kA, 3, true);
  session_.OnDisconnected();
  Connect();
  EXPECT_THAT(Said(), IsEmpty());
}

TEST_F(UplinkSessionTest, ReplacesOnlyOnce) {
  UplinkSession session({.hello = {.run = "r", .replace = true}});
  session.OnConnected();
  EXPECT_EQ(WordFor(*session.NextMessage()), "hello, replace");
  ASSERT_TRUE(session.OnEvent(WelcomeEvent{.protocol_version = 1}).ok());
  session.OnDisconnected();
  session.OnConnected();
  EXPECT_EQ(WordFor(*session.NextMessage()), "hello");
}

TEST_F(UplinkSessionTest, AsksForTheDrainOnlyAfterEverythingElse) {
  session_.AddSource(SourceOf(kA));
  Connect();
  Said();
  session_.RequestDrain(true);
  EXPECT_THAT(Said(), ElementsAre("finish", "drain"));
}

TEST_F(UplinkSessionTest, HoldsTheDrainBackWhileABatchWaitsForItsSource) {
  session_.AddSource(SourceOf(kA));
  Connect();
  Said();
  HearWelcome(kA);
  Give(kA, 0);
  Said();
  session_.RequestDrain(false);
  session_.OnDisconnected();
  Connect();
  EXPECT_THAT(Said(), ElementsAre("source 1"));
  HearWelcome(kA);
  EXPECT_THAT(Said(), ElementsAre("batch 1/0", "drain"));
}

TEST_F(UplinkSessionTest, IsDrainedWhenTheAggregatorSaysSo) {
  Connect();
  session_.RequestDrain(false);
  Said();
  EXPECT_FALSE(session_.drained());
  Hear(DrainedEvent{});
  EXPECT_TRUE(session_.drained());
}

TEST_F(UplinkSessionTest, ADrainedThatNobodyAskedForIsAnError) {
  Connect();
  EXPECT_FALSE(session_.OnEvent(DrainedEvent{}).ok());
}

TEST_F(UplinkSessionTest, ARefusedSourceIsGivenUpAndTheOthersGoOn) {
  WelcomeBoth();
  Give(kA, 0);
  Give(kB, 0);
  Hear(RefusalEvent{.source_id = kA, .sequence = 0, .reason = "conflicting_batch", .detail = "d"});
  EXPECT_THAT(Said(), ElementsAre("batch 2/0"));
  EXPECT_FALSE(session_.Wants(kA, 1));
  ASSERT_EQ(session_.refused().size(), 1U);
  EXPECT_EQ(session_.refused()[0].path, "trace1");
}

TEST_F(UplinkSessionTest, TheAggregatorMayNarrowTheWindow) {
  session_.AddSource(SourceOf(kA));
  session_.OnConnected();
  Said();
  Hear(WelcomeEvent{.protocol_version = 1, .max_message_bytes = 0, .window_batches = 1});
  HearWelcome(kA);
  Give(kA, 0);
  EXPECT_FALSE(session_.HasRoom());
}

TEST_F(UplinkSessionTest, ALostStoreIsNoticed) {
  session_.AddSource(SourceOf(kA));
  Connect();
  Said();
  HearWelcome(kA);
  Give(kA, 0);
  Said();
  Hear(AckEvent{.source_id = kA, .sequence = 0, .complete = false});
  session_.OnDisconnected();
  Connect();
  const absl::Status lost =
      session_.OnEvent(SourceWelcomeEvent{.source_id = kA, .last_sequence = -1, .complete = false});
  EXPECT_EQ(lost.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(lost.message()), HasSubstr("trace1"));
}

// --- for a giver that can give again ---

class Listener : public UplinkObserver {
 public:
  void OnAcknowledged(const Hash128& source_id, int64_t sequence, bool complete) override {
    heard.push_back(std::to_string(source_id.low) + "/" + std::to_string(sequence) + (complete ? " complete" : ""));
  }
  void OnNoteStored(const Hash128& /*id*/) override { heard.emplace_back("note"); }
  void OnRefused(const Hash128& source_id) override { heard.push_back(std::to_string(source_id.low) + " refused"); }
  void OnLacking(const std::vector<Hash128>& ids, size_t open) override {
    heard.push_back(std::to_string(ids.size()) + " lacking, " + std::to_string(open) + " open");
  }
  std::vector<std::string> heard;
};

class RenewableSessionTest : public UplinkSessionTest {
 protected:
  RenewableSessionTest() {
    session_ =
        UplinkSession({.hello = {.run = "r"}, .window_batches = 4, .can_begin_anew = true, .observer = &listener_});
    session_.AddSource(SourceOf(kA));
    Connect();
    Said();
    HearWelcome(kA);
  }
  Listener listener_;
};

TEST_F(RenewableSessionTest, ALostStoreIsGivenAgainWhatItLost) {
  Give(kA, 0);
  Give(kA, 1);
  Said();
  Hear(AckEvent{.source_id = kA, .sequence = 1, .complete = false});
  Give(kA, 2);
  session_.OnDisconnected();
  Connect();
  Said();
  HearWelcome(kA, 0);
  EXPECT_EQ(session_.NextWanted(kA), 1);
  EXPECT_THAT(Said(), IsEmpty()) << "what waited stands behind the hole";
}

TEST_F(RenewableSessionTest, TheObserverHearsWhatIsDurable) {
  Give(kA, 0);
  Said();
  Hear(AckEvent{.source_id = kA, .sequence = 0, .complete = true});
  EXPECT_THAT(listener_.heard, ElementsAre("1/-1", "1/0 complete"));
  EXPECT_EQ(session_.NextWanted(kA), std::nullopt);
}

TEST_F(RenewableSessionTest, StoredNotesAreNotSaidAgain) {
  for (const char* path : {"p", "q"}) {
    session_.AddNote({.path = path, .format = {}, .status = {}, .reason = {}, .offset = -1, .drops = {}});
  }
  Said();
  Hear(FilesStoredEvent{.count = 1});
  EXPECT_EQ(listener_.heard.back(), "note");
  session_.OnDisconnected();
  Connect();
  EXPECT_THAT(Said(), ElementsAre("source 1", "note q"));
  Hear(FilesStoredEvent{.count = 1});
  EXPECT_EQ(listener_.heard.back(), "note");
}

TEST_F(RenewableSessionTest, MoreStoredNotesThanWereSaidAreAnError) {
  EXPECT_FALSE(session_.OnEvent(FilesStoredEvent{.count = 1}).ok());
}

TEST_F(RenewableSessionTest, ARefusalIsHeardOnce) {
  const RefusalEvent refusal{.source_id = kA, .sequence = 0, .reason = "no", .detail = ""};
  Hear(refusal);
  Hear(refusal);
  EXPECT_THAT(listener_.heard, ElementsAre("1/-1", "1 refused"));
}

// --- a limit of the aggregator ---

TEST_F(UplinkSessionTest, ASourceThatIsPutOffIsForgottenUntilItIsAnnouncedAgainAndTheOthersGoOn) {
  WelcomeBoth();
  Give(kA, 0);
  Give(kA, 1);
  Give(kB, 0);
  Said();
  Hear(AckEvent{.source_id = kA, .sequence = 0, .complete = false});
  Hear(RefusalEvent{.source_id = kA, .sequence = 1, .reason = "limit", .detail = "names", .retry_after_ms = 70});
  EXPECT_EQ(RetryAfterNs(session_.PutOff(kA)), 70'000'000);
  EXPECT_THAT(std::string(session_.PutOff(kA).message()), HasSubstr("names"));
  EXPECT_TRUE(session_.PutOff(kB).ok() && session_.refused().empty());
  EXPECT_EQ(session_.NextWanted(kA), std::nullopt);
  Give(kB, 1);
  EXPECT_THAT(Said(), ElementsAre("batch 2/1"));
  session_.OnDisconnected();
  Connect();
  EXPECT_THAT(Said(), ElementsAre("source 2")) << "a new stream alone does not bring it back";
  session_.AddSource(SourceOf(kA));
  EXPECT_THAT(Said(), ElementsAre("source 1"));
  HearWelcome(kA, 0);
  EXPECT_TRUE(session_.PutOff(kA).ok());
  EXPECT_EQ(session_.NextWanted(kA), 1);
}

TEST_F(RenewableSessionTest, ANoteThatIsPutOffIsSaidAgainOnTheNextStream) {
  for (const char* path : {"p", "q"}) {
    session_.AddNote({.path = path, .format = {}, .status = {}, .reason = {}, .offset = -1, .drops = {}});
  }
  Said();
  Hear(FilesStoredEvent{.count = 0, .retry_after_ms = 1});
  Hear(FilesStoredEvent{.count = 1});
  EXPECT_EQ(session_.notes_put_off(), 1U);
  EXPECT_THAT(listener_.heard, ElementsAre("1/-1", "note"));
  EXPECT_THAT(Said(), IsEmpty());
  session_.OnDisconnected();
  Connect();
  EXPECT_THAT(Said(), ElementsAre("source 1", "note p"));
}

TEST_F(UplinkSessionTest, ABatchTooLargeForTheAggregatorIsAnError) {
  session_.AddSource(SourceOf(kA));
  Connect();
  HearWelcome(kA);
  auto large = std::make_shared<const OutgoingBatch>(
      OutgoingBatch{.source_id = kA, .sequence = 0, .content_hash = {}, .body = std::string(10'000, 'x')});
  EXPECT_TRUE(absl::IsInvalidArgument(session_.AddBatch(large)));
}

TEST_F(UplinkSessionTest, AnotherProtocolVersionIsAnError) {
  session_.OnConnected();
  Said();
  EXPECT_THAT(std::string(session_.OnEvent(WelcomeEvent{.protocol_version = 9}).message()), HasSubstr("version 9"));
}

TEST_F(UplinkSessionTest, AnswersForUnknownSourcesAreErrors) {
  Connect();
  EXPECT_FALSE(session_.OnEvent(AckEvent{.source_id = kB, .sequence = 0, .complete = false}).ok());
  EXPECT_FALSE(session_.OnEvent(SourceWelcomeEvent{.source_id = kB, .last_sequence = 0, .complete = false}).ok());
}

TEST_F(UplinkSessionTest, AnAcknowledgementOfWhatWasNeverSentIsAnError) {
  session_.AddSource(SourceOf(kA));
  Connect();
  Said();
  HearWelcome(kA);
  EXPECT_FALSE(session_.OnEvent(AckEvent{.source_id = kA, .sequence = 0, .complete = false}).ok());
}

TEST_F(RenewableSessionTest, AnOfferThatIsNotAnsweredIsMadeAgainOnTheNextStream) {
  session_.AddOffer({.extents = {{kA, 3}}});
  session_.AddOffer({.extents = {{kA, 3}, {kB, 1}}});
  EXPECT_THAT(Said(), ElementsAre("offer 1", "offer 2"));
  listener_.heard.clear();
  ASSERT_EQ(session_.OnEvent(LackingEvent{.ids = {kA}}), absl::OkStatus());
  EXPECT_THAT(listener_.heard, ElementsAre("1 lacking, 1 open"));
  session_.OnDisconnected();
  session_.OnConnected();
  EXPECT_THAT(Said(), ElementsAre("hello"));
  ASSERT_EQ(session_.OnEvent(WelcomeEvent{.protocol_version = kUplinkProtocolVersion, .store_start = 7}),
            absl::OkStatus());
  EXPECT_THAT(Said(), testing::Contains("offer 2"));
  ASSERT_EQ(session_.OnEvent(LackingEvent{}), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(session_.OnEvent(LackingEvent{}))) << "to none";
}

TEST_F(RenewableSessionTest, AnAggregatorThatKnowsNoOffersIsMadeNone) {
  session_.OnDisconnected();
  session_.OnConnected();
  Said();
  session_.AddOffer({.extents = {{kA, 3}}});
  ASSERT_EQ(session_.OnEvent(WelcomeEvent{.protocol_version = kUplinkProtocolVersion, .store_start = 0}),
            absl::OkStatus());
  EXPECT_THAT(Said(), testing::Not(testing::Contains("offer 1")));
}

}  // namespace
}  // namespace lockstep
