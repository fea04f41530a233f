// The two Executors of the analysis: one thread, or a pool. Both call fn exactly once for each index.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "analysis/model/run_data.h"
#include "platform/mutex.h"

namespace lockstep {

class SerialExecutor : public Executor {
 public:
  void ParallelFor(size_t n, const std::function<void(size_t)>& fn) override;
};

// Owns threads - 1 threads; the caller of ParallelFor is the last one, so that calls from several threads and nested
// calls always go on. ParallelFor returns once all n calls have returned. fn must not throw.
class ThreadPool : public Executor {
 public:
  // threads >= 1; 0 = as many as the machine has.
  explicit ThreadPool(size_t threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void ParallelFor(size_t n, const std::function<void(size_t)>& fn) override LOCKSTEP_EXCLUDES(mutex_);

 private:
  struct Loop;
  void Work() LOCKSTEP_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::shared_ptr<Loop>> waiting_ LOCKSTEP_GUARDED_BY(mutex_);
  bool closed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

// Threads of this machine, at least 1.
[[nodiscard]] size_t CpuCount();

}  // namespace lockstep
