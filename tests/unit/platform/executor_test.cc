#include "analysis/base/executor.h"
#include "platform/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

std::vector<int> CallsOf(Executor& executor, size_t n) {
  std::vector<int> calls(n, 0);
  executor.ParallelFor(n, [&](size_t i) { ++calls[i]; });
  return calls;
}

TEST(ThreadPool, CallsEveryIndexExactlyOnce) {
  ThreadPool pool(4);
  for (const size_t n : {0UL, 1UL, 2UL, 7UL, 1000UL, 100'000UL}) {
    EXPECT_EQ(CallsOf(pool, n), std::vector<int>(n, 1)) << n;
  }
}

TEST(ThreadPool, OfOneThreadWorksInTheCaller) {
  ThreadPool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  pool.ParallelFor(3, [&](size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ThreadPool, NestedLoopsFinish) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  pool.ParallelFor(8, [&](size_t) { pool.ParallelFor(8, [&](size_t) { calls.fetch_add(1); }); });
  EXPECT_EQ(calls.load(), 64);
}

// Returns once both threads are there.
class Meeting {
 public:
  void Come() {
    come_.fetch_add(1);
    while (come_.load() < 2) {
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<int> come_{0};
};

TEST(ThreadPool, ACallerThatWaitsForItsLoopJoinsTheLoopsInside) {
  ThreadPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  Meeting outer;
  Meeting inner;
  pool.ParallelFor(2, [&](size_t) {
    outer.Come();
    if (std::this_thread::get_id() == caller) return;
    pool.ParallelFor(2, [&](size_t) { inner.Come(); });
  });
}

TEST(ThreadPool, AThreadWithoutWorkJoinsTheLoopsOfOthers) {
  ThreadPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  Meeting outer;
  Meeting inner;
  pool.ParallelFor(2, [&](size_t) {
    outer.Come();
    if (std::this_thread::get_id() != caller) return;
    pool.ParallelFor(2, [&](size_t) { inner.Come(); });
  });
}

TEST(ThreadPool, LoopsOfOtherPoolsInsideItsOwnFinish) {
  ThreadPool pool(3);
  ThreadPool other(2);
  std::atomic<int> calls{0};
  pool.ParallelFor(8, [&](size_t) {
    other.ParallelFor(8, [&](size_t) { pool.ParallelFor(8, [&](size_t) { calls.fetch_add(1); }); });
  });
  EXPECT_EQ(calls.load(), 512);
}

TEST(ThreadPool, SeveralCallersMayNestLoops) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        pool.ParallelFor(4, [&](size_t) {
          pool.ParallelFor(3, [&](size_t) { pool.ParallelFor(5, [&](size_t) { calls.fetch_add(1); }); });
        });
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(calls.load(), 3 * 50 * 60);
}

TEST(ThreadPool, ServesSeveralCallersAtOnce) {
  ThreadPool pool(2);
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] { pool.ParallelFor(100, [&](size_t) { calls.fetch_add(1); }); });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(calls.load(), 400);
}

TEST(ThreadPool, ResultsInSlotsAreVisibleToTheCaller) {
  ThreadPool pool(4);
  std::vector<int64_t> squares(500);
  pool.ParallelFor(squares.size(), [&](size_t i) { squares[i] = static_cast<int64_t>(i * i); });
  EXPECT_EQ(std::accumulate(squares.begin(), squares.end(), int64_t{0}), 499L * 500 * 999 / 6);
}

TEST(SerialExecutor, GoesInOrder) {
  SerialExecutor executor;
  std::vector<size_t> order;
  executor.ParallelFor(4, [&](size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace lockstep
