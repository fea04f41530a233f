#include "agent/readers/nsys/table_scan.h"

#include <fmt/format.h>

#include <limits>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"

namespace lockstep::nsys {
namespace {

struct Select {
  std::string sql;
  ColumnPositions positions{};
  std::string_view missing;  // a required column the table lacks
};

Select BuildSelect(const TableCatalog& catalog, const Table& table, const ScanOptions& options) {
  LOCKSTEP_CHECK(table.columns.size() <= kMaxFields);
  Select select;
  select.sql = "SELECT _rowid_";
  select.positions.fill(-1);
  int next = 1;
  for (size_t field = 0; field < table.columns.size(); ++field) {
    const Column& column = table.columns[field];
    if (!catalog.Has(table, static_cast<int>(field))) {
      if (column.need == Need::kRequired) select.missing = column.name;
      continue;
    }
    select.sql += fmt::format(", \"{}\"", column.name);
    select.positions[field] = next++;
  }
  select.sql += fmt::format(" FROM \"{}\" NOT INDEXED", table.name);
  if (!options.where.empty()) select.sql += fmt::format(" WHERE {}", options.where);
  if (options.limit >= 0) select.sql += fmt::format(" LIMIT {}", options.limit);
  return select;
}

ScanDamage DamageFrom(int64_t after_row, const absl::Status& status) {
  // The step budget of the database interrupts scans that find more rows than the file has room for.
  if (absl::IsCancelled(status)) return {after_row, "its pages are linked without end"};
  // The message begins with path and statement; sqlite's own words come last.
  const std::string message(status.message());
  const size_t colon = message.rfind(": ");
  return {after_row, colon == std::string::npos ? message : message.substr(colon + 2)};
}

}  // namespace

std::optional<int64_t> Row::Int(int field) const {
  const int at = At(field);
  return at < 0 ? std::nullopt : statement_.IntIfInteger(at);
}

int32_t Row::Int32Or(int field, int32_t fallback) const {
  const std::optional<int64_t> value = Int(field);
  const bool fits = value.has_value() && *value >= std::numeric_limits<int32_t>::min() &&
                    *value <= std::numeric_limits<int32_t>::max();
  return fits ? static_cast<int32_t>(*value) : fallback;
}

std::string_view Row::Text(int field) const {
  const int at = At(field);
  return at < 0 || statement_.Type(at) != ColumnType::kText ? std::string_view() : statement_.Text(at);
}

std::string_view Row::Blob(int field) const {
  const int at = At(field);
  return at < 0 || statement_.Type(at) != ColumnType::kBlob ? std::string_view() : statement_.Blob(at);
}

bool Row::IsNull(int field) const { return At(field) < 0 || statement_.IsNull(At(field)); }

absl::StatusOr<std::optional<ScanDamage>> ScanTable(Database& db, const TableCatalog& catalog, const Table& table,
                                                    const ScanOptions& options,
                                                    const std::function<absl::Status(const Row&)>& visit) {
  std::optional<ScanDamage> damage;
  if (!catalog.Has(table)) return damage;
  const Select select = BuildSelect(catalog, table, options);
  if (!select.missing.empty()) return ScanDamage{-1, fmt::format("it has no column {}", select.missing)};
  absl::StatusOr<Statement> statement = db.Prepare(select.sql);
  if (!statement.ok()) return DamageFrom(-1, statement.status());
  const Row row(*statement, select.positions);
  int64_t last = -1;
  bool first = true;
  while (true) {
    const absl::StatusOr<bool> more = statement->Step();
    if (!more.ok()) return DamageFrom(last, more.status());
    if (!*more) return damage;
    // Row ids of a sound table ascend; a page linked twice would otherwise repeat without end.
    if (!first && row.id() <= last) return ScanDamage{last, "row ids do not ascend"};
    first = false;
    last = row.id();
    LOCKSTEP_RETURN_IF_ERROR(visit(row));
  }
}

}  // namespace lockstep::nsys
