#include "aggregator/store/sqlite/commit_sync.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

TEST(CommitSync, WhatIsOnTheDiskNeedsNoCall) {
  int calls = 0;
  CommitSync sync([&calls] {
    ++calls;
    return absl::OkStatus();
  });
  EXPECT_TRUE(sync.WaitFor(sync.Latest()).ok());
  EXPECT_EQ(calls, 0);
  sync.OnCommit();
  sync.OnCommit();
  EXPECT_TRUE(sync.WaitFor(1).ok());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(sync.WaitFor(2).ok());
  EXPECT_EQ(calls, 1);
}

TEST(CommitSync, ACommitWrittenDuringACallWaitsForTheNextOne) {
  std::latch called(1);
  std::latch go_on(1);
  std::atomic<int> calls = 0;
  CommitSync sync([&] {
    if (++calls == 1) {
      called.count_down();
      go_on.wait();
    }
    return absl::OkStatus();
  });
  sync.OnCommit();
  std::jthread first([&sync] { EXPECT_TRUE(sync.WaitFor(1).ok()); });
  called.wait();
  sync.OnCommit();
  std::jthread second([&sync, &calls] {
    EXPECT_TRUE(sync.WaitFor(2).ok());
    EXPECT_EQ(calls, 2);
  });
  go_on.count_down();
}

TEST(CommitSync, ThoseThatWaitShareACall) {
  constexpr int kWaiting = 16;
  std::latch called(1);
  std::latch go_on(1);
  std::atomic<int> calls = 0;
  CommitSync sync([&] {
    if (++calls == 1) {
      called.count_down();
      go_on.wait();
    }
    return absl::OkStatus();
  });
  sync.OnCommit();
  std::jthread first([&sync] { EXPECT_TRUE(sync.WaitFor(1).ok()); });
  called.wait();
  std::vector<std::jthread> waiting;
  for (int i = 0; i < kWaiting; ++i) {
    sync.OnCommit();
    waiting.emplace_back([&sync, commit = sync.Latest()] { EXPECT_TRUE(sync.WaitFor(commit).ok()); });
  }
  go_on.count_down();
  waiting.clear();
  first.join();
  EXPECT_EQ(calls, 2);
}

TEST(CommitSync, AFailureIsForGoodAndKeepsWhatWasDurable) {
  int calls = 0;
  CommitSync sync([&calls] { return ++calls == 2 ? absl::DataLossError("no disk") : absl::OkStatus(); });
  sync.OnCommit();
  EXPECT_TRUE(sync.WaitFor(1).ok());
  sync.OnCommit();
  EXPECT_EQ(sync.WaitFor(2), absl::DataLossError("no disk"));
  sync.OnCommit();
  EXPECT_EQ(sync.WaitFor(3), absl::DataLossError("no disk"));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(sync.WaitFor(1).ok());
}

}  // namespace
}  // namespace lockstep
