// The two Executors of the analysis: one thread, or a pool. Both call fn exactly once for each index.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "analysis/base/executor.h"
#include "platform/mutex.h"

namespace lockstep {

class SerialExecutor : public Executor {
 public:
  void ParallelFor(size_t n, const std::function<void(size_t)>& fn) override;
};

// Owns threads - 1 threads; the caller of ParallelFor is the last one, so that calls from several threads and nested
// calls always go on. ParallelFor returns once all n calls have returned. fn must not throw: that ends the process.
//
// A thread without work joins the loop that was begun first of those that have indices left, so that an inner loop is
// its caller's alone while an outer one has work for the others. A caller that waits for the last calls of its loop
// joins the loops inside these. Whoever finds nothing looks on for some microseconds before it sleeps: loops follow
// each other closely, and to be woken costs more.
class ThreadPool : public Executor {
 public:
  // threads >= 1; 0 = as many as the machine has. Fewer where the system gives no more.
  explicit ThreadPool(size_t threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void ParallelFor(size_t n, const std::function<void(size_t)>& fn) override LOCKSTEP_EXCLUDES(mutex_);

 private:
  struct Loop;

  void Serve() LOCKSTEP_EXCLUDES(mutex_);
  void Open(Loop& loop) LOCKSTEP_EXCLUDES(mutex_);
  void Close(Loop& loop) LOCKSTEP_EXCLUDES(mutex_);
  [[nodiscard]] Loop* FindInside(const Loop* outer) const LOCKSTEP_REQUIRES(mutex_);
  void Help(Loop& loop) LOCKSTEP_REQUIRES(mutex_);
  void LookOn(const std::atomic<uint64_t>& changes) LOCKSTEP_REQUIRES(mutex_);
  static void Work(Loop& loop) noexcept;

  Mutex mutex_;
  CondVar opened_;
  std::vector<Loop*> open_ LOCKSTEP_GUARDED_BY(mutex_);  // as they were begun
  size_t idle_ LOCKSTEP_GUARDED_BY(mutex_) = 0;          // threads that sleep until one is opened
  bool closed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::atomic<uint64_t> openings_{0};  // counts them; changed with the mutex held
  std::vector<std::thread> threads_;   // all of them before the first loop
};

// Threads of this machine, at least 1.
[[nodiscard]] size_t CpuCount();

}  // namespace lockstep
