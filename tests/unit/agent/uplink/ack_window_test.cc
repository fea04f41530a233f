#include "agent/uplink/ack_window.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/agent/uplink/two_sources.h"

namespace lockstep {
namespace {

OutgoingBatchPtr SizedBatch(const Hash128& source, int64_t sequence, size_t bytes = 1) {
  return std::make_shared<const OutgoingBatch>(
      OutgoingBatch{.source_id = source, .sequence = sequence, .content_hash = {}, .body = std::string(bytes, 'x')});
}

std::vector<int64_t> SendAll(AckWindow& window) {
  std::vector<int64_t> sent;
  while (const OutgoingBatchPtr* next = window.NextUnsent()) {
    sent.push_back((*next)->sequence);
    window.MarkSent();
  }
  return sent;
}

TEST(AckWindow, SendsInTheOrderGiven) {
  AckWindow window(10, 1000);
  window.Push(SizedBatch(kA, 0));
  window.Push(SizedBatch(kB, 7));
  window.Push(SizedBatch(kA, 1));
  EXPECT_EQ(SendAll(window), (std::vector<int64_t>{0, 7, 1}));
}

TEST(AckWindow, AnAcknowledgementIsCumulativeForItsSourceOnly) {
  AckWindow window(10, 1000);
  window.Push(SizedBatch(kA, 0));
  window.Push(SizedBatch(kB, 0));
  window.Push(SizedBatch(kA, 1));
  SendAll(window);
  EXPECT_EQ(window.Acknowledge(kA, 1), 2U);
  EXPECT_EQ(window.size(), 1U);
}

TEST(AckWindow, SendsEverythingUnacknowledgedAgainAfterARewind) {
  AckWindow window(10, 1000);
  for (int64_t i = 0; i < 4; ++i) {
    window.Push(SizedBatch(kA, i));
  }
  SendAll(window);
  window.Acknowledge(kA, 1);
  window.Rewind();
  EXPECT_EQ(SendAll(window), (std::vector<int64_t>{2, 3}));
}

TEST(AckWindow, AnAcknowledgementOfUnsentBatchesSavesSendingThem) {
  AckWindow window(10, 1000);
  for (int64_t i = 0; i < 3; ++i) {
    window.Push(SizedBatch(kA, i));
  }
  window.MarkSent();
  window.Acknowledge(kA, 1);
  EXPECT_EQ(SendAll(window), (std::vector<int64_t>{2}));
}

TEST(AckWindow, IsFullByNumber) {
  AckWindow window(2, 1000);
  window.Push(SizedBatch(kA, 0));
  EXPECT_TRUE(window.HasRoom());
  window.Push(SizedBatch(kA, 1));
  EXPECT_FALSE(window.HasRoom());
  window.Acknowledge(kA, 0);
  EXPECT_TRUE(window.HasRoom());
}

TEST(AckWindow, IsFullByBytes) {
  AckWindow window(100, 10);
  window.Push(SizedBatch(kA, 0, 6));
  EXPECT_TRUE(window.HasRoom());
  window.Push(SizedBatch(kA, 1, 6));
  EXPECT_FALSE(window.HasRoom());
  window.Acknowledge(kA, 0);
  EXPECT_EQ(window.bytes(), 6);
}

TEST(AckWindow, LetsOneBatchInHoweverLarge) {
  const AckWindow window(1, 10);
  EXPECT_TRUE(window.HasRoom());
}

TEST(AckWindow, ForgetsOneSourceAndKeepsTheOther) {
  AckWindow window(10, 1000);
  window.Push(SizedBatch(kA, 0));
  window.Push(SizedBatch(kB, 5));
  EXPECT_EQ(window.Forget(kA), 1U);
  EXPECT_EQ(SendAll(window), (std::vector<int64_t>{5}));
}

}  // namespace
}  // namespace lockstep
