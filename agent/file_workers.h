// A few threads that work on files, each file by one of them at a time. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "platform/mutex.h"

namespace lockstep {

class FileWorkers {
 public:
  FileWorkers(size_t threads, std::function<void(const std::string&)> work);
  ~FileWorkers();  // as Close, then waits for the files in work
  FileWorkers(const FileWorkers&) = delete;
  FileWorkers& operator=(const FileWorkers&) = delete;

  // Once more after the present work if the file is in work; once only if it waits.
  void Submit(const std::string& path) LOCKSTEP_EXCLUDES(mutex_);
  // Nothing is begun any more. How many files will not be.
  size_t Close() LOCKSTEP_EXCLUDES(mutex_);
  // Waits until nothing waits or is in work, at most for `timeout_ns`; whether it is so.
  bool AwaitIdle(int64_t timeout_ns) LOCKSTEP_EXCLUDES(mutex_);

 private:
  void Run() LOCKSTEP_EXCLUDES(mutex_);
  // The first waiting file that is not in work; null = none.
  [[nodiscard]] std::deque<std::string>::iterator NextFree() LOCKSTEP_REQUIRES(mutex_);

  const std::function<void(const std::string&)> work_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::string> waiting_ LOCKSTEP_GUARDED_BY(mutex_);
  std::set<std::string> known_ LOCKSTEP_GUARDED_BY(mutex_);  // those that wait
  std::set<std::string> in_work_ LOCKSTEP_GUARDED_BY(mutex_);
  bool closed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockstep
