#include "agent/uplink/measured_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace lockstep {
namespace {

using testing::HasSubstr;

// A stream that says what it is told to, and remembers nothing.
class ScriptedStream : public UplinkStream {
 public:
  explicit ScriptedStream(std::deque<UplinkEvent> events) : events_(std::move(events)) {}
  bool Write(const UplinkMessage& /*message*/) override { return true; }
  std::optional<UplinkEvent> Read() override {
    if (events_.empty()) return std::nullopt;
    const UplinkEvent event = events_.front();
    events_.pop_front();
    return event;
  }
  void CloseWrites() override {}
  absl::Status Finish() override { return absl::OkStatus(); }
  void Cancel() override {}

 private:
  std::deque<UplinkEvent> events_;
};

class ScriptedTransport : public UplinkTransport {
 public:
  explicit ScriptedTransport(std::deque<UplinkEvent> events) : events_(std::move(events)) {}
  std::unique_ptr<UplinkStream> Open() override { return std::make_unique<ScriptedStream>(events_); }

 private:
  const std::deque<UplinkEvent> events_;
};

OutgoingBatchPtr FiveByteBatch(uint64_t source, int64_t sequence) {
  return std::make_shared<OutgoingBatch>(
      OutgoingBatch{.source_id = {0, source}, .sequence = sequence, .content_hash = {}, .body = "12345"});
}

FileNote NoteOf(const std::string& status) {
  FileNote note = {"secret/path", "kineto", status};
  note.drops.Add(DropReason::kResync, 3);
  return note;
}

class MeasuredTransportTest : public testing::Test {
 protected:
  std::unique_ptr<UplinkStream> Open(std::deque<UplinkEvent> events) {
    transport_ = Measured(std::make_unique<ScriptedTransport>(std::move(events)), metrics_);
    return transport_->Open();
  }
  // The sample of a series, as it stands in its line.
  std::string Of(const std::string& series) {
    const std::string text = registry_.Text();
    const size_t at = text.find("\nlockstep_agent_" + series + " ");
    if (at == std::string::npos) return "none";
    const size_t begin = text.find(' ', at + 1) + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  }

  MetricsRegistry registry_;
  UplinkMetrics metrics_{registry_};
  std::unique_ptr<UplinkTransport> transport_;
};

TEST_F(MeasuredTransportTest, ACumulativeAcknowledgementCountsEveryBatchOnce) {
  const auto stream =
      Open({WelcomeEvent{}, AckEvent{.source_id = {0, 1}, .sequence = 1}, AckEvent{.source_id = {0, 1}, .sequence = 1},
            AckEvent{.source_id = {0, 1}, .sequence = 2}});
  for (int64_t i = 0; i < 3; ++i) stream->Write(FiveByteBatch(1, i));
  stream->Write(FiveByteBatch(2, 0));
  EXPECT_EQ(Of("unacknowledged_batches"), "4");
  while (stream->Read()) {
  }
  EXPECT_EQ(Of("batches_sent_total"), "4");
  EXPECT_EQ(Of("batch_bytes_sent_total"), "20");
  EXPECT_EQ(Of("batches_acknowledged_total"), "3");
  EXPECT_EQ(Of("unacknowledged_batches"), "1");
  EXPECT_NE(Of("lag_seconds"), "0");
}

TEST_F(MeasuredTransportTest, AnAttemptIsNoConnectionUntilItIsWelcomed) {
  Open({})->Finish().IgnoreError();
  EXPECT_EQ(Of("connection_attempts_total"), "1");
  EXPECT_EQ(Of("connections_total"), "0");
  EXPECT_EQ(Of("connected"), "0");
  const auto stream = Open({WelcomeEvent{}});
  stream->Read();
  EXPECT_EQ(Of("connections_total"), "1");
  EXPECT_EQ(Of("connected"), "1");
  stream->Write(FiveByteBatch(1, 0));
  stream->Finish().IgnoreError();
  EXPECT_EQ(Of("connected"), "0");
  EXPECT_EQ(Of("unacknowledged_batches"), "0") << "nothing more will be answered";
  EXPECT_EQ(Of("lag_seconds"), "0");
}

TEST_F(MeasuredTransportTest, FilesCountOnceTheirNoteIsStored) {
  const auto stream = Open({FilesStoredEvent{.count = 1}, FilesStoredEvent{.count = 3}});
  stream->Write(NoteOf("used"));
  stream->Write(NoteOf("partial"));
  stream->Write(NoteOf("used"));
  stream->Write(NoteOf("refused"));
  EXPECT_EQ(Of("files_total{status=\"used\"}"), "0");
  while (stream->Read()) {
  }
  EXPECT_EQ(Of("files_total{status=\"used\"}"), "2");
  EXPECT_EQ(Of("files_total{status=\"partial\"}"), "1");
  EXPECT_EQ(Of("files_total{status=\"refused\"}"), "0");
  EXPECT_EQ(Of("dropped_records_total{reason=\"resync\"}"), "9");
}

TEST_F(MeasuredTransportTest, NoPathIsEverALabel) {
  const auto stream = Open({FilesStoredEvent{.count = 1}, RefusalEvent{.source_id = {0, 1}, .reason = "evil"}});
  stream->Write(NoteOf("used"));
  while (stream->Read()) {
  }
  EXPECT_EQ(Of("refused_sources_total"), "1");
  EXPECT_THAT(registry_.Text(), testing::Not(testing::AnyOf(HasSubstr("secret"), HasSubstr("evil"))));
}

}  // namespace
}  // namespace lockstep
