#include "platform/executor.h"

#include <algorithm>
#include <atomic>

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
  [[nodiscard]] bool exhausted() const { return next.load() >= n; }

  const size_t n;
  const std::function<void(size_t)>* const fn;
  std::atomic<size_t> next{0};
  Mutex mutex;
  CondVar all_done;
  size_t done LOCKSTEP_GUARDED_BY(mutex) = 0;
};

ThreadPool::ThreadPool(size_t threads) {
  const size_t wanted = threads == 0 ? CpuCount() : threads;
  for (size_t i = 1; i < wanted; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::ParallelFor(size_t n, const std::function<void(size_t)>& fn) {
  if (n == 0) {
    return;
  }
  const auto loop = std::make_shared<Loop>(n, fn);
  if (n > 1 && !threads_.empty()) {
    const MutexLock lock(mutex_);
    waiting_.push_back(loop);
    changed_.NotifyAll();
  }
  loop->Run();
  loop->WaitUntilDone();
}

void ThreadPool::Work() {
  while (true) {
    std::shared_ptr<Loop> loop;
    {
      const MutexLock lock(mutex_);
      while (!waiting_.empty() && waiting_.front()->exhausted()) {
        waiting_.pop_front();
      }
      if (waiting_.empty()) {
        if (closed_) {
          return;
        }
        changed_.Wait(mutex_);
        continue;
      }
      loop = waiting_.front();
    }
    loop->Run();
  }
}

}  // namespace lockstep
