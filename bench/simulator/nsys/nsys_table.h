// Writes rows of one table of an nsys export. The table comes into being with its first row, as nsys does it (lazily);
// in a schema that has no such table the rows go nowhere. Columns that a schema lacks are left out.
#pragma once

#include <absl/status/status.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/sqlite.h"

namespace lockstep {

// A cell: NULL, integer, text or bytes. Views must live until Row returns.
class Cell {
 public:
  Cell() = default;
  Cell(int64_t value) : kind_(Kind::kInteger), integer_(value) {}   // NOLINT: meant to convert
  Cell(std::string_view text) : kind_(Kind::kText), text_(text) {}  // NOLINT: meant to convert
  static Cell Blob(std::string_view bytes) {
    Cell cell(bytes);
    cell.kind_ = Kind::kBlob;
    return cell;
  }
  void Bind(Statement& statement, int index) const;

 private:
  enum class Kind : uint8_t { kNull, kInteger, kText, kBlob };
  Kind kind_ = Kind::kNull;
  int64_t integer_ = 0;
  std::string_view text_;
};

class NsysTable {
 public:
  // `columns`: those that Row gives, in that order. `db` must outlive the table.
  NsysTable(Database* db, int schema_minor, std::string_view table, std::vector<std::string_view> columns);
  absl::Status Row(std::initializer_list<Cell> cells);

 private:
  absl::Status Open();
  Database* db_;
  int schema_minor_;
  std::string table_;
  std::vector<std::string_view> columns_;
  std::vector<int> parameters_;  // 1-based parameter of each given column; 0 = the schema has no such column
  std::optional<Statement> insert_;
  bool opened_ = false;
};

}  // namespace lockstep
