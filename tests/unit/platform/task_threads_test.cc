#include "platform/task_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace lockstep {
namespace {

TEST(TaskThreads, DoEverythingThatWasGivenBeforeTheyEnd) {
  std::atomic<int> done{0};
  {
    TaskThreads threads(4);
    for (int i = 0; i < 1000; ++i) threads.Post([&] { ++done; });
  }
  EXPECT_EQ(done.load(), 1000);
}

TEST(TaskThreads, OneThreadKeepsTheOrder) {
  std::vector<int> order;
  {
    TaskThreads threads(1);
    for (int i = 0; i < 100; ++i) threads.Post([&order, i] { order.push_back(i); });
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(TaskThreads, ATaskThatWaitsHoldsUpOnlyItsOwnThread) {
  std::promise<void> other;
  TaskThreads threads(2);
  std::promise<void> waited;
  threads.Post([&] {
    other.get_future().wait();
    waited.set_value();
  });
  threads.Post([&] { other.set_value(); });
  waited.get_future().wait();
}

TEST(TaskThreads, ATaskMayGiveAnother) {
  std::atomic<int> done{0};
  {
    TaskThreads threads(1);
    threads.Post([&] { threads.Post([&] { ++done; }); });
  }
  EXPECT_EQ(done.load(), 1);
}

}  // namespace
}  // namespace lockstep
