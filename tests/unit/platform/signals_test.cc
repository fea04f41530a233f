#include "platform/signals.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>

#include "platform/clock.h"

namespace lockstep {
namespace {

constexpr int64_t kHourNs = int64_t{3'600'000'000'000};

// The process under test ends with its thread running, by design. A "threadsafe" death test is a new process, which
// takes this option of ThreadSanitizer from the environment; other builds ignore it.
class ThreadsMayOutliveUs {
 public:
  ThreadsMayOutliveUs() {
    const char* const set = std::getenv(kOptions);
    if (set != nullptr) before_ = set;
    ::setenv(kOptions, (before_.value_or("") + " report_thread_leaks=0").c_str(), 1);
  }
  ~ThreadsMayOutliveUs() {
    if (before_) {
      ::setenv(kOptions, before_->c_str(), 1);
    } else {
      ::unsetenv(kOptions);
    }
  }
  ThreadsMayOutliveUs(const ThreadsMayOutliveUs&) = delete;

 private:
  static constexpr const char* kOptions = "TSAN_OPTIONS";
  std::optional<std::string> before_;
};

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
  const ThreadsMayOutliveUs end_at_once_by_design;
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
