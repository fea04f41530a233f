#include "agent/file_workers.h"

#include <algorithm>
#include <utility>

#include "platform/clock.h"

namespace lockstep {

FileWorkers::FileWorkers(size_t threads, std::function<void(const std::string&)> work) : work_(std::move(work)) {
  for (size_t i = 0; i < std::max<size_t>(1, threads); ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

FileWorkers::~FileWorkers() {
  Close();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void FileWorkers::Submit(const std::string& path) {
  const MutexLock lock(mutex_);
  if (!closed_ && known_.insert(path).second) {
    waiting_.push_back(path);
    changed_.NotifyAll();
  }
}

size_t FileWorkers::Close() {
  const MutexLock lock(mutex_);
  const size_t left = waiting_.size();
  closed_ = true;
  waiting_.clear();
  known_.clear();
  changed_.NotifyAll();
  return left;
}

bool FileWorkers::AwaitIdle(int64_t timeout_ns) {
  const int64_t end_ns = SystemClock().MonotonicNs() + timeout_ns;
  const MutexLock lock(mutex_);
  while (!waiting_.empty() || !in_work_.empty()) {
    const int64_t left_ns = end_ns - SystemClock().MonotonicNs();
    if (left_ns <= 0) {
      return false;
    }
    changed_.WaitFor(mutex_, left_ns);
  }
  return true;
}

std::deque<std::string>::iterator FileWorkers::NextFree() {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [this](const std::string& path) LOCKSTEP_REQUIRES(mutex_) { return !in_work_.contains(path); });
}

void FileWorkers::Run() {
  while (true) {
    std::string path;
    {
      const MutexLock lock(mutex_);
      auto next = NextFree();
      while (!closed_ && next == waiting_.end()) {
        changed_.Wait(mutex_);
        next = NextFree();
      }
      if (closed_) {
        return;
      }
      path = *next;
      waiting_.erase(next);
      known_.erase(path);
      in_work_.insert(path);
    }
    work_(path);
    const MutexLock lock(mutex_);
    in_work_.erase(path);
    changed_.NotifyAll();
  }
}

}  // namespace lockstep
