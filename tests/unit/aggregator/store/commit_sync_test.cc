#include "aggregator/store/sqlite/commit_sync.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

// Whose first call takes until it may go on.
struct SlowDisk {
  absl::Status Sync() {
    if (++calls == 1) {
      called.count_down();
      go_on.wait();
    }
    return absl::OkStatus();
  }

  std::latch called{1};
  std::latch go_on{1};
  std::atomic<int> calls = 0;
};

TEST(CommitSync, WhatIsOnTheDiskNeedsNoCall) {
  int calls = 0;
  CommitSync sync({[&calls] {
    ++calls;
    return absl::OkStatus();
  }});
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
  SlowDisk disk;
  CommitSync sync({[&disk] { return disk.Sync(); }});
  sync.OnCommit();
  std::jthread first([&sync] { EXPECT_TRUE(sync.WaitFor(1).ok()); });
  disk.called.wait();
  sync.OnCommit();
  std::jthread second([&sync, &disk] {
    EXPECT_TRUE(sync.WaitFor(2).ok());
    EXPECT_EQ(disk.calls, 2);
  });
  disk.go_on.count_down();
}

TEST(CommitSync, ThoseThatWaitShareACall) {
  constexpr int kWaiting = 16;
  SlowDisk disk;
  CommitSync sync({[&disk] { return disk.Sync(); }});
  sync.OnCommit();
  std::jthread first([&sync] { EXPECT_TRUE(sync.WaitFor(1).ok()); });
  disk.called.wait();
  std::vector<std::jthread> waiting;
  for (int i = 0; i < kWaiting; ++i) {
    sync.OnCommit();
    waiting.emplace_back([&sync, commit = sync.Latest()] { EXPECT_TRUE(sync.WaitFor(commit).ok()); });
  }
  disk.go_on.count_down();
  waiting.clear();
  first.join();
  EXPECT_EQ(disk.calls, 2);
}

TEST(CommitSync, ACommitThatACallCameTooEarlyForHasOneOfItsOwn) {
  SlowDisk busy;
  int calls = 0;
  CommitSync sync({[&calls] {
                     ++calls;
                     return absl::OkStatus();
                   },
                   [&busy] { return busy.Sync(); }});
  sync.OnCommit();
  std::jthread first([&sync] { EXPECT_TRUE(sync.WaitFor(1).ok()); });
  busy.called.wait();
  sync.OnCommit();
  EXPECT_TRUE(sync.WaitFor(2).ok());
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(sync.WaitFor(1).ok());  // it was written before
  busy.go_on.count_down();
}

TEST(CommitSync, WhatSucceedsAfterAnotherCallFailedIsNotBelieved) {
  SlowDisk busy;
  CommitSync sync({[] { return absl::DataLossError("no disk"); }, [&busy] { return busy.Sync(); }});
  sync.OnCommit();
  std::jthread first([&sync] { EXPECT_EQ(sync.WaitFor(1), absl::DataLossError("no disk")); });
  busy.called.wait();
  sync.OnCommit();
  EXPECT_EQ(sync.WaitFor(2), absl::DataLossError("no disk"));
  busy.go_on.count_down();
}

TEST(CommitSync, AFailureIsForGoodAndKeepsWhatWasDurable) {
  int calls = 0;
  CommitSync sync({[&calls] { return ++calls == 2 ? absl::DataLossError("no disk") : absl::OkStatus(); }});
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
