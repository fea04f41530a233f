#include "aggregator/ingest/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
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
  int reads = 0;
  admission.WhenRoom([&] {
    EXPECT_LT(admission.load().held_bytes, 50);
    ++reads;
  });
  EXPECT_EQ(reads, 0);
  rest.reset();
  EXPECT_EQ(reads, 1);
  admission.WhenRoom([&] { ++reads; });
  EXPECT_EQ(reads, 2) << "there is room already";
  most.reset();
  EXPECT_EQ(reads, 2) << "everybody goes on once";
}

TEST(Admission, WhoWaitsForRoomGoesOnWhicheverThreadMakesIt) {
  Admission admission({.max_held_bytes = 100});
  std::atomic<int> went_on{0};
  std::vector<std::thread> streams;
  for (int i = 0; i < 8; ++i) {
    streams.emplace_back([&] {
      for (int message = 0; message < 500; ++message) {
        std::promise<void> room;
        admission.WhenRoom([&] { room.set_value(); });
        room.get_future().wait();
        const Admission::Hold hold(admission, 30);
        ++went_on;
      }
    });
  }
  for (std::thread& stream : streams) stream.join();
  EXPECT_EQ(went_on.load(), 8 * 500);
  EXPECT_EQ(admission.load().held_bytes, 0);
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
  int went_on = 0;
  admission.WhenRoom([&] { ++went_on; });
  std::thread worker([&] { EXPECT_FALSE(Admission::WorkPass(admission)); });
  admission.Close();
  worker.join();
  EXPECT_EQ(went_on, 1);
  admission.WhenRoom([&] { ++went_on; });
  EXPECT_EQ(went_on, 2);
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
