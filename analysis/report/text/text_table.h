// Tables of a text page: aligned columns, one unit a column, as wide as the page allows. Where the page is narrow,
// columns that can be spared go first, and names are cut last. Pure and thread safe.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/report/text/cell.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {

// How a column is shown.
struct ColumnStyle {
  std::string title;
  CellKind kind = CellKind::kText;
  int spare = 0;  // where room is short the columns with the largest number go first; 0 = never goes
};

// A column of a table of rows: its cells are made by a member of the row, or by a function of it.
template <typename Row>
struct Column {
  template <typename Value>
  Column(std::string_view title, Value value, CellKind kind = CellKind::kText, int spare = 0)
      : style{std::string(title), kind, spare},
        cell_of([value](const Row& row) { return Cell(std::invoke(value, row)); }) {}

  ColumnStyle style;
  std::function<Cell(const Row&)> cell_of;
};

// A column whose cells are known.
struct CellColumn {
  ColumnStyle style;
  std::vector<Cell> cells;
};

struct TableOptions {
  int width = 100;
  int64_t max_rows = 20;
  int indent = 2;
};

// The first of `rows` rows, as many as all columns have cells for; a line says how many more there are. "" for no
// rows. Ends with a newline.
[[nodiscard]] std::string RenderCells(size_t rows, std::vector<CellColumn> columns, const TableOptions& options);

template <typename Row>
[[nodiscard]] std::string RenderTable(const std::vector<Row>& rows, const std::vector<Column<Row>>& columns,
                                      const TableOptions& options) {
  const size_t shown = std::min(rows.size(), static_cast<size_t>(std::max<int64_t>(options.max_rows, 0)));
  std::vector<CellColumn> cells;
  for (const Column<Row>& column : columns) {
    CellColumn& made = cells.emplace_back(CellColumn{column.style, {}});
    for (size_t i = 0; i < shown; ++i) made.cells.push_back(column.cell_of(rows[i]));
  }
  return RenderCells(rows.size(), std::move(cells), options);
}

}  // namespace lockstep
