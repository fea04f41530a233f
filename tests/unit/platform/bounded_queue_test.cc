#include "platform/bounded_queue.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <memory>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

TEST(BoundedQueue, KeepsTheOrder) {
  BoundedQueue<int> queue(3);
  queue.Push(1);
  queue.Push(2);
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
}

TEST(BoundedQueue, GivesWhatIsLeftAfterCloseAndThenNothing) {
  BoundedQueue<int> queue(3);
  queue.Push(1);
  queue.Close();
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueue, RefusesValuesAfterClose) {
  BoundedQueue<int> queue(3);
  queue.Close();
  EXPECT_FALSE(queue.Push(1));
}

TEST(BoundedQueue, NeverHoldsMoreThanItsCapacity) {
  BoundedQueue<int> queue(2);
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i) {
      queue.Push(i);
    }
    queue.Close();
  });
  size_t most = 0;
  std::vector<int> got;
  for (auto value = queue.Pop(); value; value = queue.Pop()) {
    most = std::max(most, queue.size());
    got.push_back(*value);
  }
  producer.join();
  EXPECT_LE(most, 2U);
  EXPECT_EQ(got.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
}

TEST(BoundedQueue, CloseWakesAWaitingProducer) {
  BoundedQueue<int> queue(1);
  queue.Push(1);
  std::thread producer([&] { EXPECT_FALSE(queue.Push(2)); });
  queue.Close();
  producer.join();
}

TEST(BoundedQueue, MovesValuesThatCannotBeCopied) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  queue.Push(std::make_unique<int>(7));
  EXPECT_EQ(**queue.Pop(), 7);
}

}  // namespace
}  // namespace lockstep
