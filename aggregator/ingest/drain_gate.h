// Counts the calls in progress, so that an ending server can let them finish and take no new ones. Thread safe.
#pragma once

#include <cstdint>

#include "platform/mutex.h"

namespace lockstep {

class DrainGate {
 public:
  // One call, for as long as it lives. False when the gate was closed before: the call must not begin.
  class Pass {
   public:
    explicit Pass(DrainGate& gate) : gate_(gate), admitted_(gate.Enter()) {}
    ~Pass() {
      if (admitted_) gate_.Leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    explicit operator bool() const { return admitted_; }

   private:
    DrainGate& gate_;
    const bool admitted_;
  };

  // Lets nobody in any more and waits until everybody is out; false when the time was over before.
  bool CloseAndWait(int64_t timeout_ns) LOCKSTEP_EXCLUDES(mutex_);
  // However long it takes.
  void WaitUntilEmpty() LOCKSTEP_EXCLUDES(mutex_);

 private:
  bool Enter() LOCKSTEP_EXCLUDES(mutex_);
  void Leave() LOCKSTEP_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar empty_;
  int64_t inside_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  bool closed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep
