#include "agent/watch_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kQuiet = 20;

TEST(WatchList, AFileIsFinishedAfterTheQuietTime) {
  WatchList watch(kQuiet);
  EXPECT_THAT(watch.Observe({{"a", 5, 1}}, 100), IsEmpty());
  EXPECT_THAT(watch.Observe({{"a", 5, 1}}, 119), IsEmpty());
  EXPECT_THAT(watch.Observe({{"a", 5, 1}}, 120), ElementsAre("a"));
}

TEST(WatchList, AFileIsFinishedOnce) {
  WatchList watch(kQuiet);
  watch.Observe({{"a", 5, 1}}, 100);
  watch.Observe({{"a", 5, 1}}, 120);
  watch.Observe({{"a", 6, 2}}, 140);
  EXPECT_THAT(watch.Observe({{"a", 6, 2}}, 200), IsEmpty());
}

TEST(WatchList, GrowingStartsTheQuietTimeAnew) {
  WatchList watch(kQuiet);
  watch.Observe({{"a", 5, 1}}, 100);
  watch.Observe({{"a", 6, 1}}, 115);
  EXPECT_THAT(watch.Observe({{"a", 6, 1}}, 125), IsEmpty());
  EXPECT_THAT(watch.Observe({{"a", 6, 1}}, 135), ElementsAre("a"));
}

TEST(WatchList, RewritingInPlaceStartsTheQuietTimeAnew) {
  WatchList watch(kQuiet);
  watch.Observe({{"a", 5, 1}}, 100);
  watch.Observe({{"a", 5, 2}}, 115);
  EXPECT_THAT(watch.Observe({{"a", 5, 2}}, 125), IsEmpty());
}

TEST(WatchList, ADatabaseWithAJournalIsBeingWritten) {
  WatchList watch(kQuiet);
  watch.Observe({{"a.sqlite", 5, 1}, {"a.sqlite-journal", 1, 1}}, 100);
  EXPECT_THAT(watch.Observe({{"a.sqlite", 5, 1}, {"a.sqlite-journal", 1, 1}}, 200), IsEmpty());
  EXPECT_THAT(watch.Observe({{"a.sqlite", 5, 1}}, 210), IsEmpty());
  EXPECT_THAT(watch.Observe({{"a.sqlite", 5, 1}}, 220), ElementsAre("a.sqlite"));
}

}  // namespace
}  // namespace lockstep
