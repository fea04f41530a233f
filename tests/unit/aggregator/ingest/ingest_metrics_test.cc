#include "aggregator/ingest/ingest_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "aggregator/ingest/ingest_session.h"
#include "aggregator/store/memory/memory_store.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

// The body is the number of records that the source dropped; the batch is its first and last.
absl::StatusOr<Batch> Decode(std::string_view body) {
  if (body == "broken") return absl::InvalidArgumentError("broken");
  Batch batch;
  batch.total_batches = 1;
  batch.summary.emplace().drops.Add(DropReason::kResync, static_cast<int64_t>(body.size()));
  return batch;
}

class IngestMetricsTest : public testing::Test {
 protected:
  void Send(uint64_t number, const std::string& body) {
    IngestSession session(environment_);
    ASSERT_TRUE(session.On(IngestHello{.protocol_version = 1, .run = "secret-run", .agent = "node"}).ok());
    SourceContext context;
    context.source_id = {0, number};
    ASSERT_TRUE(session.On(context).ok());
    ASSERT_TRUE(
        session
            .On(IngestBatch{.source_id = context.source_id, .sequence = 0, .content_hash = HashOf(body), .body = body})
            .ok());
  }

  MetricsRegistry registry_;
  IngestMetrics metrics_{registry_};
  MemoryStore store_;
  RunOpener opener_{store_};
  IngestEnvironment environment_{
      .store = store_, .opener = opener_, .metrics = &metrics_, .decode = Decode, .on_drained = {}};
};

TEST_F(IngestMetricsTest, ABatchSentTwiceIsTwoAcknowledgementsAndOneRepetition) {
  Send(1, "123");
  Send(1, "123");
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("\nlockstep_aggregator_batches_total 2\n"));
  EXPECT_THAT(text, HasSubstr("\nlockstep_aggregator_batch_bytes_total 6\n"));
  EXPECT_THAT(text, HasSubstr("\nlockstep_aggregator_repeated_batches_total 1\n"));
  EXPECT_THAT(text, HasSubstr("\nlockstep_aggregator_dropped_records_total{reason=\"resync\"} 3\n"));
  EXPECT_THAT(text, Not(HasSubstr("last_batch_timestamp_seconds 0\n")));
}

TEST_F(IngestMetricsTest, RefusalsCountByReason) {
  Send(1, "broken");
  Send(2, "12");
  Send(2, "123");
  const std::string text = registry_.Text();
  EXPECT_THAT(text, HasSubstr("refused_sources_total{reason=\"undecodable_batch\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("refused_sources_total{reason=\"conflicting_batch\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("refused_sources_total{reason=\"other\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\nlockstep_aggregator_batches_total 1\n"));
}

TEST_F(IngestMetricsTest, WordsFromOutsideAreNeverALabel) {
  metrics_.OnRefusedSource("evil\"} 1\nreason");
  metrics_.OnEndedStream("evil");
  const std::string text = registry_.Text();
  EXPECT_THAT(text, Not(HasSubstr("evil")));
  EXPECT_THAT(text, HasSubstr("refused_sources_total{reason=\"other\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ended_streams_total{code=\"other\"} 1\n"));
  Send(1, "1");
  EXPECT_THAT(registry_.Text(), Not(HasSubstr("secret-run")));
}

}  // namespace
}  // namespace lockstep
