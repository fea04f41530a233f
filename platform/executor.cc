#include "platform/executor.h"

#include <algorithm>
#include <system_error>

#include "platform/log.h"

namespace lockstep {
namespace {

// Without a system call; some microseconds in all.
constexpr int kLooks = 500;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void SerialExecutor::ParallelFor(size_t n, const std::function<void(size_t)>& fn) {
  for (size_t i = 0; i < n; ++i) {
    fn(i);
  }
}

size_t CpuCount() { return std::max<size_t>(1, std::thread::hardware_concurrency()); }

// One ParallelFor, on its caller's stack: it is closed before that returns. What is not const is changed with the
// pool's mutex held, but for `next`.
struct ThreadPool::Loop {
  Loop(size_t size, const std::function<void(size_t)>& function, const ThreadPool& of)
      : n(size), fn(function), pool(of), outer(current == nullptr || &current->pool != &of ? nullptr : current) {}

  [[nodiscard]] bool HasMore() const { return next.load(std::memory_order_relaxed) < n; }
  [[nodiscard]] bool IsInside(const Loop* other) const {
    const Loop* at = outer;
    while (at != nullptr && at != other) {
      at = at->outer;
    }
    return at == other;
  }
  // The next indices: one, or some of very many.
  [[nodiscard]] bool Take(size_t& first, size_t& last) {
    const size_t share = kShares * (pool.threads_.size() + 1);
    first = next.load(std::memory_order_relaxed);
    do {
      if (first >= n) {
        return false;
      }
      last = first + std::max<size_t>(1, (n - first) / share);
    } while (!next.compare_exchange_weak(first, last, std::memory_order_relaxed));
    return true;
  }

  static constexpr size_t kShares = 16;  // of a thread
  static thread_local Loop* current;     // that this thread works on

  const size_t n;
  const std::function<void(size_t)>& fn;
  const ThreadPool& pool;
  Loop* const outer;  // of the same pool; lives longer
  std::atomic<size_t> next{0};
  size_t helpers = 0;                // threads that work on it besides its caller
  std::atomic<uint64_t> changes{0};  // counts what its waiting caller looks out for
  bool is_awaited = false;           // by its caller, asleep
  CondVar changed;
};

thread_local ThreadPool::Loop* ThreadPool::Loop::current = nullptr;

ThreadPool::ThreadPool(size_t threads) {
  const size_t helpers = (threads == 0 ? CpuCount() : threads) - 1;
  threads_.reserve(helpers);
  try {
    while (threads_.size() < helpers) {
      threads_.emplace_back([this] { Serve(); });
    }
  } catch (const std::system_error& error) {
    LogWarning("goes on with {} of {} threads: {}", threads_.size() + 1, helpers + 1, std::string(error.what()));
  }
}

ThreadPool::~ThreadPool() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
    opened_.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::ParallelFor(size_t n, const std::function<void(size_t)>& fn) {
  if (n <= 1 || threads_.empty()) {
    for (size_t i = 0; i < n; ++i) {
      fn(i);
    }
    return;
  }
  Loop loop(n, fn, *this);
  Open(loop);
  Work(loop);
  Close(loop);
}

void ThreadPool::Open(Loop& loop) {
  const MutexLock lock(mutex_);
  open_.push_back(&loop);
  openings_.fetch_add(1, std::memory_order_relaxed);
  for (size_t i = 0; i < std::min(idle_, loop.n - 1); ++i) {
    opened_.NotifyOne();
  }
  for (Loop* outer = loop.outer; outer != nullptr; outer = outer->outer) {
    outer->changes.fetch_add(1, std::memory_order_relaxed);
    if (outer->is_awaited) {
      outer->changed.NotifyOne();
    }
  }
}

// Nobody joins it any more; once those that have are done, so is it.
void ThreadPool::Close(Loop& loop) {
  const MutexLock lock(mutex_);
  open_.erase(std::find(open_.begin(), open_.end(), &loop));
  while (loop.helpers > 0) {
    Loop* inner = FindInside(&loop);
    if (inner == nullptr) {
      LookOn(loop.changes);
      inner = FindInside(&loop);
    }
    if (inner != nullptr) {
      Help(*inner);
    } else if (loop.helpers > 0) {
      loop.is_awaited = true;
      loop.changed.Wait(mutex_);
      loop.is_awaited = false;
    }
  }
}

void ThreadPool::Serve() {
  const MutexLock lock(mutex_);
  while (!closed_) {
    Loop* loop = FindInside(nullptr);
    if (loop == nullptr) {
      LookOn(openings_);
      loop = FindInside(nullptr);
    }
    if (loop != nullptr) {
      Help(*loop);
    } else if (!closed_) {
      ++idle_;
      opened_.Wait(mutex_);
      --idle_;
    }
  }
}

// The first loop that has indices left, of those inside this one; null: of all.
ThreadPool::Loop* ThreadPool::FindInside(const Loop* outer) const {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Loop* loop) {
    return loop->HasMore() && (outer == nullptr || loop->IsInside(outer));
  });
  return found == open_.end() ? nullptr : *found;
}

void ThreadPool::Help(Loop& loop) {
  ++loop.helpers;
  mutex_.Unlock();
  Work(loop);
  mutex_.Lock();
  --loop.helpers;
  loop.changes.fetch_add(1, std::memory_order_relaxed);
  if (loop.is_awaited) {
    loop.changed.NotifyOne();
  }
}

// Until something changes, or for a moment.
void ThreadPool::LookOn(const std::atomic<uint64_t>& changes) {
  const uint64_t seen = changes.load(std::memory_order_relaxed);
  mutex_.Unlock();
  for (int look = 0; look < kLooks && changes.load(std::memory_order_relaxed) == seen; ++look) {
    Pause();
  }
  mutex_.Lock();
}

// Takes indices until none is left.
void ThreadPool::Work(Loop& loop) noexcept {
  Loop* const before = Loop::current;
  Loop::current = &loop;
  size_t first = 0;
  size_t last = 0;
  while (loop.Take(first, last)) {
    for (size_t i = first; i < last; ++i) {
      loop.fn(i);
    }
  }
  Loop::current = before;
}

}  // namespace lockstep
