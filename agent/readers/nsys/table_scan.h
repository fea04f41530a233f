// One plain pass over one table: SELECT of the columns that exist, in row id order, no join, no sort.
//
// A damaged table gives the rows before the damage; the scan then ends with `damage` set instead of an error.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <array>
#include <cstdint>
#include <limits>
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
  Row(const RowValues& values, const ColumnPositions& positions) : values_(values), positions_(positions) {
    if (!values.ReadInteger(0, id_)) id_ = 0;
  }

  [[nodiscard]] int64_t id() const { return id_; }
  // Missing column, NULL, and a value of another type give nothing.
  [[nodiscard]] std::optional<int64_t> Int(int field) const {
    int64_t value = 0;
    return Read(field, value) ? std::optional(value) : std::nullopt;
  }
  // The same, false for nothing: for the columns of every row, see RowValues::ReadInteger.
  [[nodiscard]] bool Read(int field, int64_t& value) const {
    const int at = At(field);
    return at >= 0 && values_.ReadInteger(at, value);
  }
  [[nodiscard]] int64_t IntOr(int field, int64_t fallback) const {
    int64_t value = fallback;
    return Read(field, value) ? value : fallback;
  }
  // An integer that fits int32; anything else gives the fallback.
  [[nodiscard]] int32_t Int32Or(int field, int32_t fallback) const {
    const int64_t value = IntOr(field, fallback);
    const bool fits = value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
    return fits ? static_cast<int32_t>(value) : fallback;
  }
  [[nodiscard]] std::string_view Text(int field) const {
    return At(field) < 0 ? std::string_view() : values_.TextIfText(At(field));
  }
  [[nodiscard]] std::string_view Blob(int field) const {
    return At(field) < 0 ? std::string_view() : values_.BlobIfBlob(At(field));
  }
  [[nodiscard]] bool IsNull(int field) const { return At(field) < 0 || values_.IsNull(At(field)); }

 private:
  [[nodiscard]] int At(int field) const { return positions_[static_cast<size_t>(field)]; }
  const RowValues& values_;
  const ColumnPositions& positions_;
  int64_t id_ = 0;
};

using RowVisitor = absl::FunctionRef<absl::Status(const Row&)>;

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
                                                    const ScanOptions& options, RowVisitor visit);

}  // namespace lockstep::nsys
