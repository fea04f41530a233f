#include "agent/file_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "platform/mutex.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr int64_t kLongNs = 60'000'000'000;

// Work that is noted, and waits while the gate is closed.
class Log {
 public:
  void Work(const std::string& path) {
    const MutexLock lock(mutex_);
    begun_.push_back(path);
    changed_.NotifyAll();
    while (closed_) {
      changed_.Wait(mutex_);
    }
  }
  void SetClosed(bool closed) {
    const MutexLock lock(mutex_);
    closed_ = closed;
    changed_.NotifyAll();
  }
  void AwaitBegun(size_t n) {
    const MutexLock lock(mutex_);
    while (begun_.size() < n) {
      changed_.Wait(mutex_);
    }
  }
  std::vector<std::string> begun() {
    const MutexLock lock(mutex_);
    return begun_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> begun_;
  bool closed_ = false;
};

TEST(FileWorkers, WorkOnEveryFile) {
  Log log;
  FileWorkers workers(3, [&log](const std::string& path) { log.Work(path); });
  for (const char* path : {"a", "b", "c", "d"}) {
    workers.Submit(path);
  }
  EXPECT_TRUE(workers.AwaitIdle(kLongNs));
  EXPECT_THAT(log.begun(), UnorderedElementsAre("a", "b", "c", "d"));
}

TEST(FileWorkers, AFileThatWaitsIsTakenOnce) {
  Log log;
  log.SetClosed(true);
  FileWorkers workers(1, [&log](const std::string& path) { log.Work(path); });
  workers.Submit("a");
  log.AwaitBegun(1);
  workers.Submit("b");
  workers.Submit("b");
  log.SetClosed(false);
  EXPECT_TRUE(workers.AwaitIdle(kLongNs));
  EXPECT_THAT(log.begun(), ElementsAre("a", "b"));
}

TEST(FileWorkers, AFileInWorkIsWorkedOnAgainAfterwardsAndNotMeanwhile) {
  Log log;
  log.SetClosed(true);
  FileWorkers workers(2, [&log](const std::string& path) { log.Work(path); });
  workers.Submit("a");
  log.AwaitBegun(1);
  workers.Submit("a");
  workers.Submit("b");
  log.AwaitBegun(2);
  EXPECT_THAT(log.begun(), ElementsAre("a", "b"));
  log.SetClosed(false);
  EXPECT_TRUE(workers.AwaitIdle(kLongNs));
  EXPECT_THAT(log.begun(), ElementsAre("a", "b", "a"));
}

TEST(FileWorkers, AfterCloseNothingIsBegun) {
  Log log;
  log.SetClosed(true);
  FileWorkers workers(1, [&log](const std::string& path) { log.Work(path); });
  workers.Submit("a");
  log.AwaitBegun(1);
  workers.Submit("b");
  workers.Close();
  workers.Submit("c");
  EXPECT_FALSE(workers.AwaitIdle(0));
  log.SetClosed(false);
  EXPECT_TRUE(workers.AwaitIdle(kLongNs));
  EXPECT_THAT(log.begun(), ElementsAre("a"));
}

}  // namespace
}  // namespace lockstep
