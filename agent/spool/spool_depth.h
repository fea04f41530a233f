// How deep the spool of a running service is, for metrics that are asked at any time. Thread safe.
#pragma once

#include "agent/spool/spool.h"
#include "platform/mutex.h"

namespace lockstep {

class SpoolDepth {
 public:
  // Until the next call; null = there is none (yet, or any more).
  void Follow(const Spool* spool) {
    const MutexLock lock(mutex_);
    spool_ = spool;
  }
  // Nothing while there is no spool.
  [[nodiscard]] SpoolState State() const {
    const MutexLock lock(mutex_);
    return spool_ == nullptr ? SpoolState() : spool_->State();
  }

 private:
  mutable Mutex mutex_;
  const Spool* spool_ LOCKSTEP_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace lockstep
