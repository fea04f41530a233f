#include "platform/signals.h"

#include <gtest/gtest.h>

#include <csignal>

#include "platform/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kHourNs = int64_t{3'600'000'000'000};

TEST(StopOnSignals, SigtermAsksToStop) {
  const StopOnSignals signals;
  EXPECT_EQ(signals.signal(), 0);
  std::raise(SIGTERM);
  EXPECT_FALSE(WaitUnlessStopped(signals.token(), kHourNs));
  EXPECT_EQ(signals.signal(), SIGTERM);
}

TEST(StopOnSignals, EndsWithoutASignal) {
  const StopOnSignals signals;
  EXPECT_FALSE(signals.token().stop_requested());
}

TEST(StopOnSignals, ASecondSignalEndsTheProcessAtOnce) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ends with its thread running, by design, which ThreadSanitizer takes for a leak";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const StopOnSignals signals;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::ExitedWithCode(128 + SIGINT), "");
}

}  // namespace
}  // namespace lockstep
