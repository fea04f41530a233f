#include "analysis/report/text/text_table.h"

#include <algorithm>
#include "analysis/report/json.h"

#include <gtest/gtest.h>

#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  size_t from = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
    lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

struct Row {
  std::optional<int64_t> rank;
  std::string name;
  std::optional<int64_t> time_ns;
};

std::vector<Row> Rows(size_t n) {
  std::vector<Row> rows;
  for (size_t i = 0; i < n; ++i) {
    rows.push_back({static_cast<int64_t>(i), std::string(50, 'n'), static_cast<int64_t>(1000 * i)});
  }
  return rows;
}

const std::vector<Column<Row>> kColumns = {
    {"rank", &Row::rank, CellKind::kNumber}, {"name", &Row::name}, {"time", &Row::time_ns, CellKind::kTime, 1}};

TEST(TextTable, NumbersAreRightAlignedUnderTheirTitleAndUnit) {
  const std::vector<std::string> lines = LinesOf(RenderTable(Rows(12), kColumns, {100, 20, 2}));
  EXPECT_EQ(lines[0].substr(0, 8), "  rank  ");
  EXPECT_EQ(lines[1].substr(lines[1].size() - 4), "  us");
  EXPECT_EQ(lines[2].substr(0, 6), "     0");
  EXPECT_EQ(lines[13].substr(0, 6), "    11");
}

TEST(TextTable, WhatIsNotShownIsCounted) {
  const std::vector<std::string> lines = LinesOf(RenderTable(Rows(25), kColumns, {100, 20, 2}));
  EXPECT_EQ(lines.size(), 2U + 20U + 1U);
  EXPECT_EQ(lines.back(), "  ... and 5 more (--limit)");
}

TEST(TextTable, EverythingIsShownWhereItFits) {
  EXPECT_EQ(LinesOf(RenderTable(Rows(20), kColumns, {100, 20, 2})).size(), 22U);
}

TEST(TextTable, SpareColumnsGoBeforeNamesBecomeTooShort) {
  const std::string text = RenderTable(Rows(3), kColumns, {29, 20, 2});
  EXPECT_EQ(text.find("time"), std::string::npos);
  EXPECT_NE(text.find("nnn...nnn"), std::string::npos);
}

TEST(TextTable, OfAKernelTheFunctionStaysWhileColumnsCanBeSpared) {
  const std::string kernel = "void ns::ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
  const std::vector<Column<Row>> columns = {{"kernel", &Row::name, CellKind::kKernel},
                                            {"time", &Row::time_ns, CellKind::kTime, 1}};
  const std::string narrow = RenderTable<Row>({{0, kernel, 1}}, columns, {45, 20, 2});
  EXPECT_NE(narrow.find("ncclDevKernel_AllReduce_Sum_bf16_RING_LL\n"), std::string::npos) << narrow;
  EXPECT_EQ(narrow.find("time"), std::string::npos) << narrow;
  const std::string wide = RenderTable<Row>({{0, kernel, 1}}, columns, {200, 20, 2});
  EXPECT_NE(wide.find(kernel.substr(5)), std::string::npos) << wide;
  EXPECT_NE(wide.find("time"), std::string::npos) << wide;
}

TEST(TextTable, NoLineIsWiderThanThePage) {
  for (int width = 20; width <= 120; ++width) {
    for (const std::string& line : LinesOf(RenderTable(Rows(30), kColumns, {width, 20, 2}))) {
      EXPECT_LE(DisplayWidth(line), static_cast<size_t>(std::max(width, 28))) << line;
    }
  }
}

TEST(TextTable, WhatIsNotKnownIsADash) {
  const std::vector<Column<Row>> columns = {{"rank", &Row::rank, CellKind::kNumber},
                                            {"name", [](const Row&) { return Cell(); }},
                                            {"time", &Row::time_ns, CellKind::kTime, 1}};
  const std::string text = RenderTable<Row>({{1, "", {}}, {}}, columns, {100, 20, 2});
  const std::vector<std::string> lines = LinesOf(text);
  ASSERT_EQ(lines.size(), 3u);  // a column of dashes has no unit, so there is no line of units
  EXPECT_EQ(lines[1], "     1  -        -");
  EXPECT_EQ(lines[2], "     -  -        -");
}

TEST(TextTable, NoRowsAreNoTable) { EXPECT_EQ(RenderTable<Row>({}, kColumns, {100, 20, 2}), ""); }

}  // namespace
}  // namespace lockstep
