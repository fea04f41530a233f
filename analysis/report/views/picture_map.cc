#include "analysis/report/views/picture_map.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace lockstep {
namespace {

// As many cells as a screen has pixels, for all ranks at once; culprits are shown in all of their columns.
constexpr size_t kOverviewRows = 1024;
constexpr size_t kOverviewColumns = 1000;
constexpr size_t kDetailRows = 32;
constexpr size_t kDetailColumns = 16'384;

// Codes by row and column.
struct CodeMatrix {
  size_t rows = 0;
  size_t columns = 0;
  std::vector<uint8_t> codes;

  [[nodiscard]] uint8_t& At(size_t row, size_t column) { return codes[row * columns + column]; }
  [[nodiscard]] uint8_t At(size_t row, size_t column) const { return codes[row * columns + column]; }
};

CodeMatrix EmptyMatrix(size_t rows, size_t columns) { return {rows, columns, std::vector<uint8_t>(rows * columns)}; }

size_t CellsFor(size_t count, size_t most) { return (count + most - 1) / std::max<size_t>(1, most); }

std::vector<int64_t> KeysOf(const MapInput& input) {
  std::set<int64_t> keys;
  for (const auto& [key, column] : input.lateness.grid().columns()) keys.insert(key);
  if (!input.only_lateness_columns) {
    for (const auto& [key, column] : input.caused.columns()) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

// `code` gives that of a cell of the grid.
template <typename Cell, typename Code>
CodeMatrix MatrixOf(const ColumnGrid<Cell>& grid, const std::vector<int64_t>& keys, const std::vector<size_t>& rows,
                    const Code& code) {
  CodeMatrix matrix = EmptyMatrix(rows.size(), keys.size());
  for (size_t c = 0; c < keys.size(); ++c) {
    const auto column = grid.columns().find(keys[c]);
    if (column == grid.columns().end()) continue;
    for (size_t r = 0; r < rows.size(); ++r) matrix.At(r, c) = code(column->second[rows[r]]);
  }
  return matrix;
}

// `cells` as a tile, each the largest of `per_row` ranks and `per_column` columns.
report::PictureTile TileOf(const CodeMatrix& cells, size_t per_row, size_t per_column) {
  report::PictureTile tile;
  tile.rows = cells.rows;
  tile.ranks_per_row = per_row;
  tile.columns = cells.columns;
  tile.columns_per_cell = per_column;
  tile.cells = TextOfCodes(cells.codes);
  return tile;
}

report::PictureTile Overview(const CodeMatrix& matrix) {
  const size_t per_row = CellsFor(matrix.rows, kOverviewRows);
  const size_t per_column = CellsFor(matrix.columns, kOverviewColumns);
  CodeMatrix cells = EmptyMatrix(CellsFor(matrix.rows, per_row), CellsFor(matrix.columns, per_column));
  for (size_t r = 0; r < matrix.rows; ++r) {
    for (size_t c = 0; c < matrix.columns; ++c) {
      uint8_t& cell = cells.At(r / per_row, c / per_column);
      cell = std::max(cell, matrix.At(r, c));
    }
  }
  return TileOf(cells, per_row, per_column);
}

report::PictureTile Detail(const CodeMatrix& matrix, const std::vector<size_t>& rows,
                           const std::vector<int32_t>& ranks) {
  const size_t per_column = CellsFor(matrix.columns, kDetailColumns);
  CodeMatrix cells = EmptyMatrix(rows.size(), CellsFor(matrix.columns, per_column));
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t c = 0; c < matrix.columns; ++c) {
      uint8_t& cell = cells.At(i, c / per_column);
      cell = std::max(cell, matrix.At(rows[i], c));
    }
  }
  report::PictureTile tile = TileOf(cells, 1, per_column);
  tile.row_ranks.emplace();
  for (const size_t row : rows) tile.row_ranks->push_back(ranks[row]);
  return tile;
}

// Rows with the most blame, the most first.
std::vector<size_t> WorstRows(const std::vector<int64_t>& blame) {
  std::vector<size_t> rows(blame.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) { return blame[a] > blame[b]; });
  while (!rows.empty() && (rows.size() > kDetailRows || blame[rows.back()] <= 0)) rows.pop_back();
  return rows;
}

report::PictureLayer LayerOf(std::string name, const CodeMatrix& matrix, const MapInput& input) {
  report::PictureLayer layer{std::move(name), {Overview(matrix)}};
  const bool is_coarse = matrix.rows > kOverviewRows || matrix.columns > kOverviewColumns;
  const std::vector<size_t> worst = WorstRows(input.blame);
  if (is_coarse && !worst.empty()) layer.tiles.push_back(Detail(matrix, worst, input.ranks));
  return layer;
}

}  // namespace

std::string TextOfCodes(const std::vector<uint8_t>& codes) {
  constexpr unsigned kPlain = 0x20;
  constexpr unsigned kLifted = 0x120;
  std::string text;
  text.reserve(codes.size());
  for (const uint8_t code : codes) {
    const unsigned plain = code + kPlain;
    if (plain < 0x7F && plain != '"' && plain != '\\') {
      text += static_cast<char>(plain);
    } else {
      const unsigned lifted = code + kLifted;
      text += static_cast<char>(0xC0U | lifted >> 6U);
      text += static_cast<char>(0x80U | (lifted & 0x3FU));
    }
  }
  return text;
}

PictureMap MapOf(const MapInput& input) {
  LatenessGrid& lateness = input.lateness.grid();
  const int shift = std::max(lateness.shift(), input.caused.shift());
  lateness.CoarsenTo(shift);
  input.caused.CoarsenTo(shift);
  const std::vector<int64_t> keys = KeysOf(input);
  const bool steps = input.lateness.axis().steps();
  PictureMap out;
  out.columns.kind = steps ? "step" : "time";
  out.columns.each = int64_t{1} << std::min(shift, 62);
  for (const int64_t key : keys) {
    const auto start = static_cast<int64_t>(static_cast<uint64_t>(key) << static_cast<unsigned>(shift));
    out.columns.starts.push_back(steps ? start : start - input.run_start_ns);
  }
  if (keys.empty() || input.rows.empty()) return out;
  const CodeMatrix late = MatrixOf(lateness, keys, input.rows, [](const LatenessCell& cell) { return cell.code; });
  CodeMatrix caused =
      MatrixOf(input.caused, keys, input.rows, [](const CausedWaitCell& cell) { return DurationCode(cell.ns); });
  for (size_t i = 0; i < caused.codes.size(); ++i) {
    if (caused.codes[i] == 0 && late.codes[i] == kUnresolvedCode) caused.codes[i] = kUnresolvedCode;
  }
  out.layers = {LayerOf("caused_wait", caused, input), LayerOf("lateness", late, input)};
  return out;
}

}  // namespace lockstep
