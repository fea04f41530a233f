#include "platform/task_threads.h"

#include <utility>

namespace lockstep {

TaskThreads::TaskThreads(size_t threads) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
  }
}

TaskThreads::~TaskThreads() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void TaskThreads::Post(std::function<void()> task) {
  const MutexLock lock(mutex_);
  waiting_.push_back(std::move(task));
  changed_.NotifyOne();
}

void TaskThreads::Work() {
  while (true) {
    std::function<void()> task;
    {
      const MutexLock lock(mutex_);
      while (waiting_.empty() && !closed_) {
        changed_.Wait(mutex_);
      }
      if (waiting_.empty()) {
        return;
      }
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task();
  }
}

}  // namespace lockstep
