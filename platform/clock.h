// Time as a parameter: whoever needs "now" takes a Clock, tests pass a ManualClock. Nothing else asks the system.
#pragma once

#include <atomic>
#include <cstdint>
#include <stop_token>

namespace lockstep {

// Thread safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual int64_t UnixNs() const = 0;
  // Never goes back; its zero has no meaning.
  [[nodiscard]] virtual int64_t MonotonicNs() const = 0;
};

[[nodiscard]] const Clock& SystemClock();

class ManualClock : public Clock {
 public:
  [[nodiscard]] int64_t UnixNs() const override { return now_ns_.load(); }
  [[nodiscard]] int64_t MonotonicNs() const override { return now_ns_.load(); }
  void Advance(int64_t ns) { now_ns_.fetch_add(ns); }

 private:
  std::atomic<int64_t> now_ns_{0};
};

// Waits until the time is over or a stop is requested; false when stopped.
bool WaitUnlessStopped(const std::stop_token& stop, int64_t duration_ns);

}  // namespace lockstep
