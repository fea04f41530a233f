#include "platform/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace lockstep {
namespace {

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock;
  EXPECT_EQ(clock.MonotonicNs(), 0);
  clock.Advance(5);
  EXPECT_EQ(clock.MonotonicNs(), 5);
  EXPECT_EQ(clock.UnixNs(), 5);
}

TEST(SystemClock, NeverGoesBack) {
  const int64_t before_ns = SystemClock().MonotonicNs();
  EXPECT_GE(SystemClock().MonotonicNs(), before_ns);
}

TEST(WaitUnlessStopped, EndsAtOnceWhenAlreadyStopped) {
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(WaitUnlessStopped(source.get_token(), int64_t{3'600'000'000'000}));
}

TEST(WaitUnlessStopped, IsWokenByAStop) {
  std::stop_source source;
  std::thread stopper([&] { source.request_stop(); });
  EXPECT_FALSE(WaitUnlessStopped(source.get_token(), int64_t{3'600'000'000'000}));
  stopper.join();
}

TEST(WaitUnlessStopped, EndsWhenTheTimeIsOver) { EXPECT_TRUE(WaitUnlessStopped(std::stop_token(), 1)); }

}  // namespace
}  // namespace lockstep
