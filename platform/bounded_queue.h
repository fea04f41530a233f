// A queue of limited length between threads: a full queue holds its producers back, a closed one lets consumers finish
// what is left. Thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "analysis/base/check.h"
#include "platform/mutex.h"

namespace lockstep {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) { LOCKSTEP_CHECK(capacity > 0); }

  // Waits for room. False when the queue is closed: the value is lost.
  bool Push(T value) LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!closed_ && items_.size() >= capacity_) {
      changed_.Wait(mutex_);
    }
    if (closed_) {
      return false;
    }
    items_.push_back(std::move(value));
    changed_.NotifyAll();
    return true;
  }

  // Waits for a value. Null when the queue is closed and empty.
  std::optional<T> Pop() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!closed_ && items_.empty()) {
      changed_.Wait(mutex_);
    }
    if (items_.empty()) {
      return std::nullopt;
    }
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    changed_.NotifyAll();
    return value;
  }

  // No more values; wakes everybody. May be called again.
  void Close() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }

  [[nodiscard]] size_t size() const LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return items_.size();
  }

 private:
  const size_t capacity_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<T> items_ LOCKSTEP_GUARDED_BY(mutex_);
  bool closed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
};

}  // namespace lockstep
