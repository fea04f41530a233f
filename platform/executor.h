// The two Executors of the analysis: one thread, or a pool. Both call fn exactly once for each index.
#pragma once

#include <cstddef>
#include <functional>

#include "analysis/model/run_data.h"
#include "platform/task_threads.h"

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

  void ParallelFor(size_t n, const std::function<void(size_t)>& fn) override;

 private:
  struct Loop;

  const size_t helpers_;
  TaskThreads threads_;
};

// Threads of this machine, at least 1.
[[nodiscard]] size_t CpuCount();

}  // namespace lockstep
