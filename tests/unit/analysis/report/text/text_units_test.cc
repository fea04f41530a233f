#include "analysis/report/text/text_units.h"
#include "analysis/report/json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace lockstep {
namespace {

FormattedColumn Format(CellKind kind, const Json& values) {
  std::vector<Cell> cells;
  for (const Json& value : values) cells.emplace_back(value);
  return FormatColumn(kind, cells);
}

using Cells = std::vector<std::string>;

TEST(TextUnits, AColumnOfTimesHasTheUnitOfItsMiddleValue) {
  const FormattedColumn column = Format(CellKind::kTime, Json::array({5000, 7624000, 125000}));
  EXPECT_EQ(column.unit, "us");
  EXPECT_EQ(column.cells, (Cells{"5", "7624", "125"}));
}

TEST(TextUnits, NoTimeNeedsMoreThanSixDigitsBeforeThePoint) {
  const FormattedColumn column = Format(CellKind::kTime, Json::array({1, 2, 60'000'000'000}));
  EXPECT_EQ(column.unit, "ms");
  EXPECT_EQ(column.cells[2], "60000");
}

TEST(TextUnits, DecimalsAreGivenWhereTheValuesAreNotWhole) {
  EXPECT_EQ(Format(CellKind::kTime, Json::array({1500, 2000})).cells, (Cells{"1.500", "2.000"}));
  EXPECT_EQ(Format(CellKind::kTime, Json::array({150500, 2000})).cells, (Cells{"150.5", "2.0"}));
}

TEST(TextUnits, NullIsADashAndDoesNotChooseTheUnit) {
  const FormattedColumn column = Format(CellKind::kTime, Json::array({nullptr, 3'000'000, "text"}));
  EXPECT_EQ(column.unit, "ms");
  EXPECT_EQ(column.cells, (Cells{"-", "3", "-"}));
}

TEST(TextUnits, ATimeThatIsNotZeroIsNotShownAsZero) {
  EXPECT_EQ(Format(CellKind::kTime, Json::array({4, 150'500, 1'000, 0})).cells, (Cells{"<0.1", "150.5", "1.0", "0.0"}));
}

TEST(TextUnits, AColumnOfDashesHasNoUnit) {
  EXPECT_EQ(Format(CellKind::kTime, Json::array({nullptr})).unit, "");
  EXPECT_EQ(Format(CellKind::kTime, Json::array({0})).unit, "ns");
}

TEST(TextUnits, NegativeTimesKeepTheirSign) {
  EXPECT_EQ(Format(CellKind::kTime, Json::array({-1'234'567})).cells, Cells{"-1.235"});
}

TEST(TextUnits, RatiosAreShownAsPercent) {
  const FormattedColumn column = Format(CellKind::kPercent, Json::array({0.4623, 1}));
  EXPECT_EQ(column.unit, "%");
  EXPECT_EQ(column.cells, (Cells{"46.2", "100.0"}));
}

TEST(TextUnits, BytesAreDecimal) {
  const FormattedColumn column = Format(CellKind::kBytes, Json::array({8388608}));
  EXPECT_EQ(column.unit, "MB");
  EXPECT_EQ(column.cells, Cells{"8.389"});
}

TEST(TextUnits, CountsAreGroupedByThousands) {
  EXPECT_EQ(FormatCount(Json(0)), "0");
  EXPECT_EQ(FormatCount(Json(999)), "999");
  EXPECT_EQ(FormatCount(Json(1000)), "1,000");
  EXPECT_EQ(FormatCount(Json(-1234567)), "-1,234,567");
  EXPECT_EQ(FormatCount(Json(nullptr)), "-");
}

TEST(TextUnits, ATimeInASentenceHasThreeDigits) {
  EXPECT_EQ(FormatTime(int64_t{9}), "9 ns");
  EXPECT_EQ(FormatTime(int64_t{9'000}), "9 us");
  EXPECT_EQ(FormatTime(int64_t{7'624'123}), "7.62 ms");
  EXPECT_EQ(FormatTime(int64_t{-12'345'678}), "-12.3 ms");
  EXPECT_EQ(FormatTime(int64_t{660'551'005'000}), "661 s");
  EXPECT_EQ(FormatTime(Json(nullptr)), "-");
}

TEST(TextUnits, PercentsKeepWhatMatters) {
  EXPECT_EQ(FormatPercent(0.8123), "81.2 %");
  EXPECT_EQ(FormatPercent(0.00421), "0.42 %");
  EXPECT_EQ(FormatPercent(1.0), "100 %");
  EXPECT_EQ(FormatPercent(0.0), "0 %");
}

// The C library's calendar is the oracle.
TEST(TextUnits, UtcIsTheCalendarsOnEveryDayOfTwoHundredYears) {
  constexpr int64_t kFirst = 946684800;  // 2000-01-01
  for (int64_t day = 0; day < 73'000; ++day) {
    const std::time_t seconds = kFirst + day * 86'400 + day % 86'400;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    char expected[64];
    std::strftime(expected, sizeof expected, "%Y-%m-%d %H:%M:%S.123456 UTC", &parts);
    ASSERT_EQ(FormatUtc(Json(std::to_string(seconds) + "123456789")), expected);
  }
}

TEST(TextUnits, WhatIsNoTimeOfATraceHasNoUtc) {
  EXPECT_EQ(FormatUtc(Json("12345")), "");
  EXPECT_EQ(FormatUtc(Json("-1728123456789012345")), "");
  EXPECT_EQ(FormatUtc(Json("99999999999999999999")), "");
  EXPECT_EQ(FormatUtc(Json("1728123456789012345x")), "");
  EXPECT_EQ(FormatUtc(Json(nullptr)), "");
}

}  // namespace
}  // namespace lockstep
