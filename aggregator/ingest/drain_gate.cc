#include "aggregator/ingest/drain_gate.h"

#include "platform/clock.h"

namespace lockstep {

bool DrainGate::Enter() {
  const MutexLock lock(mutex_);
  inside_ += closed_ ? 0 : 1;
  return !closed_;
}

void DrainGate::Leave() {
  const MutexLock lock(mutex_);
  if (--inside_ == 0) {
    empty_.NotifyAll();
  }
}

bool DrainGate::CloseAndWait(int64_t timeout_ns) {
  const int64_t end_ns = SystemClock().MonotonicNs() + timeout_ns;
  const MutexLock lock(mutex_);
  closed_ = true;
  for (int64_t left_ns = timeout_ns; inside_ > 0 && left_ns > 0; left_ns = end_ns - SystemClock().MonotonicNs()) {
    empty_.WaitFor(mutex_, left_ns);
  }
  return inside_ == 0;
}

void DrainGate::WaitUntilEmpty() {
  const MutexLock lock(mutex_);
  while (inside_ > 0) {
    empty_.Wait(mutex_);
  }
}

}  // namespace lockstep
