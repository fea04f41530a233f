#include "platform/clock.h"

#include <chrono>

#include "platform/mutex.h"

namespace lockstep {
namespace {

class RealClock : public Clock {
 public:
  [[nodiscard]] int64_t UnixNs() const override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count();
  }
  [[nodiscard]] int64_t MonotonicNs() const override {
    const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count();
  }
};

}  // namespace

const Clock& SystemClock() {
  static const RealClock clock;
  return clock;
}

bool WaitUnlessStopped(const std::stop_token& stop, int64_t duration_ns) {
  Mutex mutex;
  CondVar stopped;
  const std::stop_callback wake(stop, [&] {
    const MutexLock lock(mutex);
    stopped.NotifyAll();
  });
  const int64_t end_ns = SystemClock().MonotonicNs() + duration_ns;
  const MutexLock lock(mutex);
  while (!stop.stop_requested()) {
    const int64_t left_ns = end_ns - SystemClock().MonotonicNs();
    if (left_ns <= 0) {
      return true;
    }
    stopped.WaitFor(mutex, left_ns);
  }
  return false;
}

}  // namespace lockstep
