#include "cli/filter_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FilterText, ReadsDurationsOfSeveralUnits) {
  EXPECT_EQ(ParseDuration("1m2s500ms").value(), 62'500'000'000);
  EXPECT_EQ(ParseDuration("90").value(), 90'000'000'000);
  EXPECT_EQ(ParseDuration("250us").value(), 250'000);
  for (const char* text :
       {"", "-1s", "1x", "s", "1s2", "9223372036854775807ns9223372036854775807ns", "99999999999999m"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDuration(text).status())) << text;
  }
}

TEST(FilterText, ReadsRangesWhoseEndsAreInOrder) {
  EXPECT_EQ(ParseStepRange("-4..5").value(), std::pair(int64_t{-4}, int64_t{5}));
  EXPECT_EQ(ParseStepRange("7").value(), std::pair(int64_t{7}, int64_t{7}));
  EXPECT_EQ(ParseTimeRange("5s..7s").value().second, 7'000'000'000);
  for (const char* text : {"5..4", "..", "a..b", "1..2..3", "9223372036854775808"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseStepRange(text).status())) << text;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ParseTimeRange("7s..7s").status()));
}

TEST(FilterText, ReadsRanksOnceEachInOrder) {
  EXPECT_THAT(ParseRanks("8-10,2,0,2").value(), ElementsAre(0, 2, 8, 9, 10));
  for (const char* text : {"", ",", "1,", "-1", "3-2", "0-1000000", "1--2"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseRanks(text).status())) << text;
  }
}

TEST(FilterText, RefusesRanksThatOverlapWithoutEnd) {
  std::string text = "0-999999";
  EXPECT_EQ(ParseRanks(text).value().size(), 1'000'000U);
  for (int i = 0; i < 10'000; ++i) text += ",0-999999";
  EXPECT_THAT(std::string(ParseRanks(text).status().message()), HasSubstr("at most a million"));
}

}  // namespace
}  // namespace lockstep
