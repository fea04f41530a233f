// One plain pass over one table: SELECT of the columns that exist, in row id order, no join, no sort.
//
// A damaged table gives the rows before the damage; the scan then ends with `damage` set instead of an error.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/readers/nsys/nsys_schema.h"
#include "agent/readers/nsys/table_catalog.h"
#include "platform/sqlite.h"

namespace lockstep::nsys {

inline constexpr size_t kMaxFields = 20;
using ColumnPositions = std::array<int, kMaxFields>;  // by field; -1 = the table has no such column

// The current row. Views live until the next row.
class Row {
 public:
  Row(const Statement& statement, const ColumnPositions& positions) : statement_(statement), positions_(positions) {}

  [[nodiscard]] int64_t id() const { return statement_.Int(0); }
  // Missing column, NULL, and a value of another type give nothing.
  [[nodiscard]] std::optional<int64_t> Int(int field) const;
  [[nodiscard]] int64_t IntOr(int field, int64_t fallback) const { return Int(field).value_or(fallback); }
  // An integer that fits int32; anything else gives the fallback.
  [[nodiscard]] int32_t Int32Or(int field, int32_t fallback) const;
  [[nodiscard]] std::string_view Text(int field) const;
  [[nodiscard]] std::string_view Blob(int field) const;
  [[nodiscard]] bool IsNull(int field) const;

 private:
  [[nodiscard]] int At(int field) const { return positions_[static_cast<size_t>(field)]; }
  const Statement& statement_;
  const ColumnPositions& positions_;
};

struct ScanDamage {
  int64_t after_row = -1;  // last good row id, -1 = none
  std::string what;
};

struct ScanOptions {
  std::string_view where;  // SQL condition without user text; "" = every row
  int64_t limit = -1;      // -1 = every row
};

// Calls `visit` for each row. The result is the damage met, if any; a Status is what `visit` returned.
// A table that the file does not have is an empty one.
absl::StatusOr<std::optional<ScanDamage>> ScanTable(Database& db, const TableCatalog& catalog, const Table& table,
                                                    const ScanOptions& options,
                                                    const std::function<absl::Status(const Row&)>& visit);

}  // namespace lockstep::nsys
