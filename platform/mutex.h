// std::mutex and std::condition_variable under clang's capability annotations, so that -Wthread-safety proves at
// compile time that guarded members are touched only with their mutex held. Never absl::Mutex: ThreadSanitizer cannot
// see into it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#if defined(__clang__)
#define LOCKSTEP_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define LOCKSTEP_THREAD_ATTRIBUTE(x)
#endif
#define LOCKSTEP_CAPABILITY(name) LOCKSTEP_THREAD_ATTRIBUTE(capability(name))
#define LOCKSTEP_SCOPED_CAPABILITY LOCKSTEP_THREAD_ATTRIBUTE(scoped_lockable)
#define LOCKSTEP_GUARDED_BY(mutex) LOCKSTEP_THREAD_ATTRIBUTE(guarded_by(mutex))
#define LOCKSTEP_REQUIRES(...) LOCKSTEP_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define LOCKSTEP_EXCLUDES(...) LOCKSTEP_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define LOCKSTEP_ACQUIRE(...) LOCKSTEP_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define LOCKSTEP_RELEASE(...) LOCKSTEP_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define LOCKSTEP_UNCHECKED_THREAD_SAFETY LOCKSTEP_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace lockstep {

class LOCKSTEP_CAPABILITY("mutex") Mutex {
 public:
  void Lock() LOCKSTEP_ACQUIRE() { mutex_.lock(); }
  void Unlock() LOCKSTEP_RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class LOCKSTEP_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) LOCKSTEP_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() LOCKSTEP_RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits may wake spuriously: always wait in a loop over the condition.
class CondVar {
 public:
  void Wait(Mutex& mutex) LOCKSTEP_REQUIRES(mutex) LOCKSTEP_UNCHECKED_THREAD_SAFETY {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    variable_.wait(lock);
    lock.release();
  }
  // Returns after a notification or after `timeout_ns`, whichever comes first.
  void WaitFor(Mutex& mutex, int64_t timeout_ns) LOCKSTEP_REQUIRES(mutex) LOCKSTEP_UNCHECKED_THREAD_SAFETY {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    // Waiting on the system clock: glibc's monotonic wait is invisible to ThreadSanitizer of GCC 12.
    variable_.wait_until(lock, std::chrono::system_clock::now() + std::chrono::nanoseconds(timeout_ns));
    lock.release();
  }
  void NotifyOne() { variable_.notify_one(); }
  void NotifyAll() { variable_.notify_all(); }

 private:
  std::condition_variable variable_;
};

}  // namespace lockstep
