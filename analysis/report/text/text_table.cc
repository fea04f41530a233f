#include "analysis/report/text/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/model/kernel_name.h"
#include "analysis/report/text/text_words.h"

namespace lockstep {
namespace {

constexpr size_t kColumnGap = 2;  // blanks between columns

// What a shortened text keeps at least, while columns can be dropped instead.
constexpr size_t kNarrowestText = 16;
constexpr size_t kNarrowestPath = 32;
constexpr size_t kNarrowestName = 40;

struct LaidOut {
  ColumnStyle column;
  FormattedColumn formatted;
  size_t width = 0;
  size_t narrowest = 0;

  [[nodiscard]] bool Shortens() const {
    return column.kind == CellKind::kText || column.kind == CellKind::kName || column.kind == CellKind::kKernel ||
           column.kind == CellKind::kPath;
  }
};

// The names of the functions alone, without namespaces and arguments.
size_t WidthOfFunctions(const std::vector<std::string>& kernels) {
  size_t width = 0;
  for (const std::string& kernel : kernels) width = std::max(width, DisplayWidth(SplitKernelName(kernel).base));
  return width;
}

size_t NarrowestOf(const LaidOut& column) {
  switch (column.column.kind) {
    case CellKind::kText:
      return std::min(column.width, kNarrowestText);
    case CellKind::kKernel:
      return std::min(column.width,
                      std::clamp(WidthOfFunctions(column.formatted.cells), kNarrowestPath, kNarrowestName));
    case CellKind::kName:
      return std::min(column.width, kNarrowestName);
    case CellKind::kPath:
      return std::min(column.width, kNarrowestPath);
    default:
      return column.width;
  }
}

LaidOut LayOut(CellColumn column) {
  LaidOut result{std::move(column.style), {}, 0, 0};
  result.formatted = FormatColumn(result.column.kind, column.cells);
  result.width = std::max(result.column.title.size(), result.formatted.unit.size());
  for (const std::string& cell : result.formatted.cells) result.width = std::max(result.width, DisplayWidth(cell));
  result.narrowest = NarrowestOf(result);
  return result;
}

size_t TotalWidth(const std::vector<LaidOut>& columns) {
  return std::accumulate(columns.begin(), columns.end(), columns.empty() ? 0 : (columns.size() - 1) * kColumnGap,
                         [](size_t sum, const LaidOut& column) { return sum + column.width; });
}

// The narrowest that the columns can be without losing one.
size_t LeastWidth(const std::vector<LaidOut>& columns) {
  size_t least = TotalWidth(columns);
  for (const LaidOut& column : columns) least -= column.width - column.narrowest;
  return least;
}

void DropSpareColumns(std::vector<LaidOut>& columns, size_t room) {
  while (LeastWidth(columns) > room) {
    const auto most = std::max_element(columns.rbegin(), columns.rend(), [](const LaidOut& a, const LaidOut& b) {
      return a.column.spare < b.column.spare;  // from behind: the last of equals goes first
    });
    if (most == columns.rend() || most->column.spare == 0) return;
    columns.erase(std::next(most).base());
  }
}

// Shortens the names that have most to spare; below their least width only where nothing else is left.
void ShrinkNames(std::vector<LaidOut>& columns, size_t room) {
  constexpr size_t kLeastOfAll = 4;
  while (TotalWidth(columns) > room) {
    const auto spare = [](const LaidOut& column) {
      return static_cast<int64_t>(column.width) - static_cast<int64_t>(column.narrowest);
    };
    LaidOut* most = nullptr;
    for (LaidOut& column : columns) {
      if (!column.Shortens() || column.width <= kLeastOfAll) continue;
      if (most == nullptr || std::pair(spare(column), column.width) > std::pair(spare(*most), most->width))
        most = &column;
    }
    if (most == nullptr) return;
    --most->width;
  }
}

void AppendCell(std::string_view cell, const LaidOut& column, std::string& line) {
  const size_t used = DisplayWidth(cell);
  const std::string blanks(column.width > used ? column.width - used : 0, ' ');
  line += column.Shortens() ? fmt::format("{}{}", cell, blanks) : fmt::format("{}{}", blanks, cell);
}

template <typename CellOf>
std::string Line(const std::vector<LaidOut>& columns, int indent, CellOf cell_of) {
  std::string line(static_cast<size_t>(indent), ' ');
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) line.append(kColumnGap, ' ');
    const std::string cell(cell_of(columns[i]));
    AppendCell(columns[i].Shortens() ? Shorten(cell, columns[i].width) : cell, columns[i], line);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string FitCell(const LaidOut& column, size_t row) {
  const std::string& cell = column.formatted.cells[row];
  if (column.column.kind == CellKind::kKernel) return ShortenKernel(cell, column.width);
  return column.column.kind == CellKind::kPath ? ShortenPath(cell, column.width) : Shorten(cell, column.width);
}

}  // namespace

std::string RenderCells(size_t rows, std::vector<CellColumn> columns, const TableOptions& options) {
  if (rows == 0 || columns.empty()) return "";
  const size_t shown = columns.front().cells.size();
  std::vector<LaidOut> laid_out;
  for (CellColumn& column : columns) laid_out.push_back(LayOut(std::move(column)));
  const auto room = static_cast<size_t>(std::max(options.width - options.indent, 1));
  DropSpareColumns(laid_out, room);
  ShrinkNames(laid_out, room);
  std::string text = Line(laid_out, options.indent, [](const LaidOut& c) { return std::string_view(c.column.title); });
  const bool units = std::any_of(laid_out.begin(), laid_out.end(),
                                 [](const LaidOut& column) { return !column.formatted.unit.empty(); });
  if (units) {
    text += Line(laid_out, options.indent, [](const LaidOut& c) { return std::string_view(c.formatted.unit); });
  }
  for (size_t i = 0; i < shown; ++i) {
    text += Line(laid_out, options.indent, [&](const LaidOut& column) { return FitCell(column, i); });
  }
  if (rows > shown) text += fmt::format("{:{}}... and {} more (--limit)\n", "", options.indent, rows - shown);
  return text;
}

}  // namespace lockstep
