#include "agent/readers/nsys/table_scan.h"

#include <fmt/format.h>

#include "analysis/base/check.h"

namespace lockstep::nsys {
namespace {

struct Select {
  std::string columns = "_rowid_";
  std::string from;
  ColumnPositions positions{};
  std::string_view missing;  // a required column the table lacks
};

Select BuildSelect(const TableCatalog& catalog, const Table& table, const ScanOptions& options) {
  LOCKSTEP_CHECK(table.columns.size() <= kMaxFields);
  Select select;
  select.positions.fill(-1);
  int next = 1;
  for (size_t field = 0; field < table.columns.size(); ++field) {
    const Column& column = table.columns[field];
    if (!catalog.Has(table, static_cast<int>(field))) {
      if (column.need == Need::kRequired) select.missing = column.name;
      continue;
    }
    select.columns += fmt::format(", \"{}\"", column.name);
    select.positions[field] = next++;
  }
  select.from = fmt::format("\"{}\" NOT INDEXED", catalog.NameOf(table));
  if (!options.where.empty()) select.from += fmt::format(" WHERE {}", options.where);
  if (options.limit >= 0) {
    // The row id needs its name said: it is that of a column where one stands for it.
    select.from = fmt::format("(SELECT _rowid_ AS {} FROM {} LIMIT {})", select.columns, select.from, options.limit);
  }
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

absl::StatusOr<std::optional<ScanDamage>> ScanTable(Database& db, const TableCatalog& catalog, const Table& table,
                                                    const ScanOptions& options, RowVisitor visit) {
  std::optional<ScanDamage> damage;
  if (!catalog.Has(table)) return damage;
  const Select select = BuildSelect(catalog, table, options);
  if (!select.missing.empty()) return ScanDamage{-1, fmt::format("it has no column {}", select.missing)};
  int64_t last = -1;
  bool first = true;
  absl::Status visited;
  const absl::Status scanned = db.VisitRows(select.columns, select.from, [&](const RowValues& values) {
    const Row row(values, select.positions);
    // Row ids of a sound table ascend; a page linked twice would otherwise repeat without end.
    if (!first && row.id() <= last) {
      damage = ScanDamage{last, "row ids do not ascend"};
      return false;
    }
    first = false;
    last = row.id();
    visited = visit(row);
    return visited.ok();
  });
  if (!visited.ok()) return visited;
  if (!scanned.ok()) damage = DamageFrom(last, scanned);
  return damage;
}

}  // namespace lockstep::nsys
