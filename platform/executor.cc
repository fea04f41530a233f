#include "platform/executor.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "platform/mutex.h"

namespace lockstep {

void SerialExecutor::ParallelFor(size_t n, const std::function<void(size_t)>& fn) {
  for (size_t i = 0; i < n; ++i) {
    fn(i);
  }
}

size_t CpuCount() { return std::max<size_t>(1, std::thread::hardware_concurrency()); }

// One ParallelFor. Shared, because a helper may look at it after the caller has returned (and then finds nothing to
// do).
struct ThreadPool::Loop {
  Loop(size_t size, const std::function<void(size_t)>& function) : n(size), fn(&function) {}

  // Takes indices until none is left. `fn` is alive as long as an index is: the caller waits for all of them.
  void Run() {
    for (size_t i = next.fetch_add(1); i < n; i = next.fetch_add(1)) {
      (*fn)(i);
      const MutexLock lock(mutex);
      if (++done == n) {
        all_done.NotifyAll();
      }
    }
  }
  void WaitUntilDone() {
    const MutexLock lock(mutex);
    while (done < n) {
      all_done.Wait(mutex);
    }
  }

  const size_t n;
  const std::function<void(size_t)>* const fn;
  std::atomic<size_t> next{0};
  Mutex mutex;
  CondVar all_done;
  size_t done LOCKSTEP_GUARDED_BY(mutex) = 0;
};

ThreadPool::ThreadPool(size_t threads) : helpers_((threads == 0 ? CpuCount() : threads) - 1), threads_(helpers_) {}

void ThreadPool::ParallelFor(size_t n, const std::function<void(size_t)>& fn) {
  if (n == 0) {
    return;
  }
  const auto loop = std::make_shared<Loop>(n, fn);
  for (size_t i = 0; i < std::min(helpers_, n - 1); ++i) {
    threads_.Post([loop] { loop->Run(); });
  }
  loop->Run();
  loop->WaitUntilDone();
}

}  // namespace lockstep
