// A fixed number of threads that do what they are given, in order.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "platform/mutex.h"

namespace lockstep {

// Thread safe. A task may wait, as long as another one can end the waiting; it must not throw.
class TaskThreads {
 public:
  // With none, nothing may be given.
  explicit TaskThreads(size_t threads);
  ~TaskThreads();  // after all that was given is done
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  // Bounded by whoever calls: what waits is kept.
  void Post(std::function<void()> task) LOCKSTEP_EXCLUDES(mutex_);

 private:
  void Work() LOCKSTEP_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> waiting_ LOCKSTEP_GUARDED_BY(mutex_);
  bool closed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
