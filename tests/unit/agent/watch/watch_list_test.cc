#include "agent/watch/watch_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr WatchTimes kTimes = {.seen_quiet_ns = 20, .closed_quiet_ns = 5};

class WatchListTest : public testing::Test {
 protected:
  // The folder as it is from now on.
  void Write(const std::string& path, int64_t size_bytes, bool has_journal = false) {
    files_[path] = {.key = {.path = path, .size_bytes = size_bytes, .modified_ns = size_bytes},
                    .has_journal = has_journal};
  }
  void Note(const std::string& path, FileSign sign, int64_t now_ns) { watch_.Note(files_.at(path), sign, now_ns); }
  std::vector<std::string> Finished(int64_t now_ns) {
    return watch_.TakeFinished(
        [this](const std::string& path) {
          const auto found = files_.find(path);
          return found == files_.end() ? std::nullopt : std::optional(found->second);
        },
        now_ns);
  }

  std::map<std::string, SeenFile> files_;
  WatchList watch_{kTimes};
};

TEST_F(WatchListTest, ASeenFileIsFinishedAfterTheQuietTime) {
  Write("a", 5);
  Note("a", FileSign::kSeen, 100);
  EXPECT_THAT(Finished(119), IsEmpty());
  EXPECT_THAT(Finished(120), ElementsAre("a"));
  EXPECT_THAT(Finished(200), IsEmpty()) << "once";
}

TEST_F(WatchListTest, AClosedFileIsFinishedSooner) {
  Write("a", 5);
  Note("a", FileSign::kSeen, 100);
  Note("a", FileSign::kClosed, 101);
  EXPECT_THAT(Finished(105), IsEmpty());
  EXPECT_THAT(Finished(106), ElementsAre("a"));
}

TEST_F(WatchListTest, ARenamedFileIsFinishedAtOnce) {
  Write("a", 5);
  Note("a", FileSign::kMovedIn, 100);
  EXPECT_THAT(Finished(100), ElementsAre("a"));
}

TEST_F(WatchListTest, GrowingStartsTheQuietTimeAnew) {
  Write("a", 5);
  Note("a", FileSign::kSeen, 100);
  Write("a", 6);
  EXPECT_THAT(Finished(120), IsEmpty());
  EXPECT_THAT(Finished(139), IsEmpty());
  EXPECT_THAT(Finished(140), ElementsAre("a"));
}

TEST_F(WatchListTest, SeeingAFileAgainDoesNotStartTheQuietTimeAnew) {
  Write("a", 5);
  Note("a", FileSign::kSeen, 100);
  Note("a", FileSign::kSeen, 115);
  EXPECT_THAT(Finished(120), ElementsAre("a"));
}

TEST_F(WatchListTest, AFileClosedAndOpenedAgainIsNotFinished) {
  Write("a", 5);
  Note("a", FileSign::kClosed, 100);
  Write("a", 9);
  EXPECT_THAT(Finished(105), IsEmpty());
  EXPECT_THAT(Finished(125), ElementsAre("a"));
}

TEST_F(WatchListTest, ADatabaseWithAJournalIsBeingWritten) {
  Write("a.sqlite", 5, true);
  Note("a.sqlite", FileSign::kClosed, 100);
  EXPECT_THAT(Finished(200), IsEmpty());
  Write("a.sqlite", 5, false);
  EXPECT_THAT(Finished(219), IsEmpty());
  EXPECT_THAT(Finished(220), ElementsAre("a.sqlite"));
}

TEST_F(WatchListTest, AFileThatIsGoneIsForgotten) {
  Write("a", 5);
  Note("a", FileSign::kSeen, 100);
  files_.clear();
  EXPECT_THAT(Finished(120), IsEmpty());
  EXPECT_EQ(watch_.NextDueNs(), std::nullopt);
}

TEST_F(WatchListTest, TellsWhenTheNextMayBeFinished) {
  EXPECT_EQ(watch_.NextDueNs(), std::nullopt);
  Write("a", 5);
  Write("b", 5);
  Note("a", FileSign::kSeen, 100);
  Note("b", FileSign::kClosed, 102);
  EXPECT_EQ(watch_.NextDueNs(), 107);
}

}  // namespace
}  // namespace lockstep
