#include "agent/readers/nsys/string_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/readers/nsys/table_scan.h"
#include "analysis/base/status_macros.h"

namespace lockstep::nsys {
namespace {

constexpr size_t kMaxCachedStrings = size_t{1} << 18;
constexpr int64_t kMaxIndexedIds = int64_t{1} << 20;

absl::StatusOr<std::vector<std::pair<int64_t, int64_t>>> IndexIds(Database& db, const TableCatalog& catalog,
                                                                  RecordSink& sink) {
  std::vector<std::pair<int64_t, int64_t>> keys;
  const auto visit = [&](const Row& row) {
    if (const auto id = row.Int(string_ids::kId)) keys.emplace_back(*id, row.id());
    return absl::OkStatus();
  };
  LOCKSTEP_ASSIGN_OR_RETURN(const auto damage,
                            ScanTable(db, catalog, string_ids::kTable, {.limit = kMaxIndexedIds}, visit));
  if (damage.has_value()) sink.Drop(DropReason::kTruncatedTail, damage->after_row);
  std::ranges::sort(keys);
  return keys;
}

}  // namespace

absl::StatusOr<StringTable> StringTable::Open(Database& db, const TableCatalog& catalog, RecordSink& sink) {
  for (int field = 0; field < string_ids::kFieldCount; ++field) {
    if (catalog.Has(string_ids::kTable, field)) continue;
    return absl::InvalidArgumentError(fmt::format("{}: no nsys export: its table {} has no column {}", db.path(),
                                                  string_ids::kTable.name,
                                                  string_ids::kColumns[static_cast<size_t>(field)].name));
  }
  LOCKSTEP_ASSIGN_OR_RETURN(Statement by_id, db.Prepare(fmt::format("SELECT \"{}\" FROM \"{}\" WHERE _rowid_ = ?",
                                                                    string_ids::kColumns[string_ids::kValue].name,
                                                                    catalog.NameOf(string_ids::kTable))));
  StringTable strings(std::move(by_id), sink);
  strings.keys_are_ids_ = catalog.IsRowId(string_ids::kTable, string_ids::kId);
  if (!strings.keys_are_ids_) {
    LOCKSTEP_ASSIGN_OR_RETURN(strings.keys_, IndexIds(db, catalog, sink));
  }
  return strings;
}

std::optional<int64_t> StringTable::KeyOf(int64_t id) const {
  if (keys_are_ids_) return id;
  const auto found = std::ranges::lower_bound(keys_, id, {}, &std::pair<int64_t, int64_t>::first);
  if (found == keys_.end() || found->first != id) return std::nullopt;
  return found->second;
}

std::optional<std::string> StringTable::Text(int64_t id) {
  const std::optional<int64_t> key = KeyOf(id);
  if (!key.has_value()) return std::nullopt;
  by_id_.Reset();
  by_id_.BindInt(1, *key);
  const absl::StatusOr<bool> found = by_id_.Step();
  if (!found.ok() || !*found || by_id_.Type(0) != ColumnType::kText) return std::nullopt;
  std::string text(by_id_.Text(0));
  return text;
}

NameId StringTable::UnknownName(int64_t row) {
  sink_->Drop(DropReason::kBadString, row);
  return sink_->InternName("(unknown name)");
}

NameId StringTable::Name(int64_t id, int64_t row) {
  if (const NameId* recent = recent_names_.Find(id)) return *recent;
  if (const auto cached = names_.find(id); cached != names_.end()) {
    recent_names_.Put(id, cached->second);
    return cached->second;
  }
  const std::optional<std::string> text = Text(id);
  if (!text.has_value()) return UnknownName(row);
  const NameId name = sink_->InternName(*text);
  if (names_.size() < kMaxCachedStrings) names_.emplace(id, name);
  return name;
}

}  // namespace lockstep::nsys
