#include "aggregator/ingest/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "aggregator/ingest/message_pacer.h"

namespace lockstep {
namespace {

TEST(Admission, LetsInAsManyStreamsAsAllowedAndAnotherWhenOneHasGone) {
  Admission admission({.max_streams = 2});
  const Admission::StreamPass first(admission);
  {
    const Admission::StreamPass second(admission);
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(Admission::StreamPass(admission));
    EXPECT_TRUE(absl::IsResourceExhausted(admission.TooManyStreams()));
  }
  EXPECT_TRUE(Admission::StreamPass(admission));
  EXPECT_EQ(admission.load().streams, 1);
  EXPECT_EQ(admission.load().refused_streams, 1);
}

TEST(Admission, MessagesBeyondTheBytesAreNotHeld) {
  Admission admission({.max_held_bytes = 100});
  const Admission::Hold first(admission, 60);
  EXPECT_TRUE(first);
  EXPECT_FALSE(Admission::Hold(admission, 41));
  EXPECT_TRUE(Admission::Hold(admission, 40));
  EXPECT_EQ(admission.load().held_bytes, 60);
  EXPECT_EQ(admission.load().most_held_bytes, 100);
  EXPECT_EQ(admission.load().refused_messages, 1);
  EXPECT_TRUE(absl::IsResourceExhausted(admission.TooManyBytes()));
}

TEST(Admission, OneMessageAloneIsLetInHoweverLarge) {
  Admission admission({.max_held_bytes = 100});
  EXPECT_TRUE(Admission::Hold(admission, 1'000'000));
}

TEST(Admission, NothingMoreIsReadUntilHalfOfTheBytesAreFree) {
  Admission admission({.max_held_bytes = 100});
  std::optional<Admission::Hold> most(std::in_place, admission, 45);
  std::optional<Admission::Hold> rest(std::in_place, admission, 20);
  std::atomic<bool> may_read{false};
  std::thread reader([&] {
    EXPECT_TRUE(admission.WaitForRoom());
    EXPECT_LT(admission.load().held_bytes, 50);
    may_read = true;
  });
  std::this_thread::yield();
  EXPECT_FALSE(may_read.load());
  rest.reset();
  reader.join();
  most.reset();
  EXPECT_TRUE(admission.WaitForRoom());
}

TEST(Admission, NoMoreBatchesAreWorkedOnAtOnceThanAllowed) {
  Admission admission({.max_working = 3});
  std::atomic<int> working{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  std::vector<std::thread> streams;
  for (int i = 0; i < 12; ++i) {
    streams.emplace_back([&] {
      for (int batch = 0; batch < 200; ++batch) {
        const Admission::WorkPass pass(admission);
        ASSERT_TRUE(pass);
        const int now = ++working;
        int before = most.load();
        while (before < now && !most.compare_exchange_weak(before, now)) {
        }
        std::this_thread::yield();
        --working;
        ++done;
      }
    });
  }
  for (std::thread& stream : streams) stream.join();
  EXPECT_LE(most.load(), 3);
  EXPECT_EQ(done.load(), 12 * 200);
  EXPECT_EQ(admission.load().working, 0);
}

TEST(Admission, ClosingEndsAllWaiting) {
  Admission admission({.max_held_bytes = 100, .max_working = 1});
  const Admission::Hold full(admission, 100);
  const Admission::WorkPass busy(admission);
  std::thread reader([&] { EXPECT_FALSE(admission.WaitForRoom()); });
  std::thread worker([&] { EXPECT_FALSE(Admission::WorkPass(admission)); });
  admission.Close();
  reader.join();
  worker.join();
  EXPECT_FALSE(admission.WaitForRoom());
  EXPECT_TRUE(admission.closed().stop_requested());
}

constexpr int64_t kSecond = 1'000'000'000;

TEST(MessagePacer, ASecondsWorthMayComeAtOnceThenEachWaitsItsTurn) {
  MessagePacer pacer({.max_messages_per_s = 10});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pacer.EarlyNs(7 * kSecond), 0) << i;
  EXPECT_EQ(pacer.EarlyNs(7 * kSecond), kSecond / 10);
  EXPECT_EQ(pacer.EarlyNs(7 * kSecond), 2 * kSecond / 10);
}

TEST(MessagePacer, ALongSilenceSavesUpNoMoreThanASecond) {
  MessagePacer pacer({.max_messages_per_s = 10});
  EXPECT_EQ(pacer.EarlyNs(0), 0);
  int at_once = 0;
  while (pacer.EarlyNs(3600 * kSecond) == 0) ++at_once;
  EXPECT_EQ(at_once, 10);
}

TEST(MessagePacer, AStreamWithinItsRateNeverWaits) {
  MessagePacer pacer({.max_messages_per_s = 10});
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(pacer.EarlyNs(i * kSecond / 10), 0);
}

}  // namespace
}  // namespace lockstep
