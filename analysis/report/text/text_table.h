// Tables of a text page: aligned columns, one unit a column, as wide as the page allows. Pure and thread safe.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/report/text/text_units.h"

namespace lockstep {

struct TableColumn {
  std::string title;
  std::string path;  // of the value in a row, keys joined by dots
  CellKind kind = CellKind::kText;
  int spare = 0;  // where room is short the columns with the largest number go first; 0 = never goes
};

struct TableOptions {
  int width = 100;
  int64_t max_rows = 20;
  int indent = 2;
};

// Rows are objects. Beyond max_rows a line says how many there are. "" for no rows. Ends with a newline.
[[nodiscard]] std::string RenderTable(const Json& rows, std::vector<TableColumn> columns, const TableOptions& options);

}  // namespace lockstep
