#include "agent/readers/nsys/table_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "analysis/base/status_macros.h"

namespace lockstep::nsys {
namespace {

absl::Status NotAnExport(const Database& db, std::string_view missing) {
  return absl::InvalidArgumentError(
      fmt::format("{}: an SQLite database, but no nsys export ({}); make one with: nsys export --type sqlite "
                  "--include-blobs=true --include-json=true REPORT.nsys-rep",
                  db.path(), missing));
}

// Virtual tables have root page 0.
absl::StatusOr<std::set<std::string, std::less<>>> RealTables(Database& db) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement statement,
                            db.Prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"));
  std::set<std::string, std::less<>> names;
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return names;
    names.emplace(statement.Text(0));
  }
}

// "NAME_V" and the largest number; "" where there is none.
std::string NewestVersion(const std::set<std::string, std::less<>>& tables, std::string_view name) {
  const std::string prefix = fmt::format("{}_V", name);
  std::string newest;
  int newest_number = 0;
  for (auto it = tables.lower_bound(prefix); it != tables.end() && it->starts_with(prefix); ++it) {
    const std::string_view digits = std::string_view(*it).substr(prefix.size());
    int number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number <= newest_number) continue;
    newest = *it;
    newest_number = number;
  }
  return newest;
}

bool IsInteger(std::string_view declared) {
  return std::ranges::equal(declared, std::string_view("integer"), [](char a, char b) { return (a | 0x20) == b; });
}

}  // namespace

absl::StatusOr<TableCatalog> TableCatalog::Load(Database& db) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto tables, RealTables(db));
  if (tables.empty()) return NotAnExport(db, "it has no tables");
  if (!tables.contains(string_ids::kTable.name)) return NotAnExport(db, "no table StringIds");
  if (!std::ranges::any_of(tables, [](const std::string& name) { return MarksAnExport(name); })) {
    return NotAnExport(db, "none of the tables CUPTI_*, TARGET_INFO_*, META_DATA_*");
  }
  TableCatalog catalog;
  for (const Table* table : KnownTables()) {
    const std::string newer = NewestVersion(tables, table->name);
    if (tables.contains(table->name)) {
      LOCKSTEP_RETURN_IF_ERROR(catalog.LoadColumns(db, *table, std::string(table->name)));
      if (!newer.empty()) catalog.newer_.push_back({newer, std::string(table->name), false});
    } else if (!newer.empty()) {
      LOCKSTEP_RETURN_IF_ERROR(catalog.LoadNewer(db, *table, newer));
    }
  }
  return catalog;
}

absl::Status TableCatalog::LoadNewer(Database& db, const Table& table, const std::string& name) {
  LOCKSTEP_RETURN_IF_ERROR(LoadColumns(db, table, name));
  NewerTable newer{name, std::string(table.name), true};
  for (size_t field = 0; field < table.columns.size(); ++field) {
    const bool needed = table.columns[field].need == Need::kRequired;
    newer.read = newer.read && (!needed || Has(table, static_cast<int>(field)));
  }
  if (!newer.read) columns_.erase(std::string(table.name));
  newer_.push_back(std::move(newer));
  return absl::OkStatus();
}

std::string_view TableCatalog::NameOf(const Table& table) const {
  const auto newer = std::ranges::find(newer_, table.name, &NewerTable::known);
  return newer == newer_.end() || !newer->read ? table.name : std::string_view(newer->name);
}

absl::Status TableCatalog::LoadColumns(Database& db, const Table& table, const std::string& name) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement statement, db.Prepare(fmt::format("PRAGMA table_info(\"{}\")", name)));
  std::vector<FoundColumn>& found = columns_[std::string(table.name)];
  int key_columns = 0;
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) break;
    const bool key = statement.Int(5) > 0;
    key_columns += key ? 1 : 0;
    found.push_back({std::string(statement.Text(1)), key && IsInteger(statement.Text(2))});
  }
  if (key_columns > 1) {
    for (FoundColumn& column : found) column.row_id = false;
  }
  return absl::OkStatus();
}

const TableCatalog::FoundColumn* TableCatalog::Find(const Table& table, int field) const {
  const auto columns = columns_.find(table.name);
  if (columns == columns_.end()) return nullptr;
  const std::string_view name = table.columns[static_cast<size_t>(field)].name;
  const auto column = std::ranges::find(columns->second, name, &FoundColumn::name);
  return column == columns->second.end() ? nullptr : &*column;
}

bool TableCatalog::Has(const Table& table, int field) const { return Find(table, field) != nullptr; }

bool TableCatalog::IsRowId(const Table& table, int field) const {
  const FoundColumn* column = Find(table, field);
  return column != nullptr && column->row_id;
}

}  // namespace lockstep::nsys
