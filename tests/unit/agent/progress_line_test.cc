#include "agent/progress_line.h"

#include <gtest/gtest.h>

#include "analysis/base/time.h"

namespace lockstep {
namespace {

TEST(ProgressText, HasABarWhereTheAmountOfWorkIsKnown) {
  const SendProgress progress{.files_done = 3, .files = 8, .path = "/traces/rank3.json.gz", .part = 0.5};
  EXPECT_EQ(ProgressText(progress, 79), "[============>           ]  50 %  3 of 8 files, rank3.json.gz");
}

TEST(ProgressText, HasAFullBarAtTheEnd) {
  const SendProgress progress{.files_done = 1, .files = 1, .path = "a.json", .part = 1};
  EXPECT_EQ(ProgressText(progress, 79), "[========================] 100 %  1 of 1 files, a.json");
}

TEST(ProgressText, SaysHowMuchOfTheFileIsReadWhereTheRestIsUnknown) {
  const SendProgress progress{.files_done = 3, .files = 8, .path = "rank3.json", .done = 450, .total = 1'000};
  EXPECT_EQ(ProgressText(progress, 79), "3 of 8 files, rank3.json 45 %");
  EXPECT_EQ(ProgressText({.files_done = 0, .files = 1, .path = "a.sqlite", .done = 5}, 79), "0 of 1 files, a.sqlite");
}

TEST(ProgressText, FitsTheLine) {
  const SendProgress progress{.files_done = 0, .files = 1, .path = std::string(200, 'x'), .part = 0};
  EXPECT_EQ(ProgressText(progress, 79).size(), 79U);
}

TEST(ProgressPace, ShortWorkShowsNothingAndLongWorkMovesFiveTimesASecond) {
  ManualClock clock;
  clock.Advance(5 * kNsPerS);
  ProgressPace pace(clock);
  int shown = 0;
  for (int ms = 0; ms < 999; ms += 3) {
    shown += pace.TakeTurn() ? 1 : 0;
    clock.Advance(3 * kNsPerMs);
  }
  EXPECT_EQ(shown, 0);
  for (int ms = 0; ms < 10'000; ++ms) {
    clock.Advance(kNsPerMs);
    shown += pace.TakeTurn() ? 1 : 0;
  }
  EXPECT_EQ(shown, 50);
}

}  // namespace
}  // namespace lockstep
