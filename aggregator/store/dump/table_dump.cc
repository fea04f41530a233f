#include "aggregator/store/dump/table_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "aggregator/store/dump/blob_text.h"
#include "aggregator/store/dump/value_text.h"
#include "aggregator/store/sqlite/binding.h"
#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

// What a row belongs to. A run or source is told by its name or id, never by its row id.
enum class Owner { kStore, kRun, kSource };

// `key`: the columns that order the rows of one owner, as an index of the table has them (nothing is sorted).
struct TableRule {
  std::string_view table;
  Owner owner;
  std::string_view key;
};
constexpr std::array kRules = {
    TableRule{"run", Owner::kStore, "name"},
    TableRule{"source", Owner::kRun, "source_id"},
    TableRule{"name", Owner::kRun, "hash"},
    TableRule{"source_name", Owner::kSource, "local"},
    TableRule{"communicator", Owner::kSource, "local"},
    TableRule{"batch", Owner::kSource, "sequence"},
    TableRule{"batch_instances", Owner::kSource, "sequence"},
    TableRule{"instance_block", Owner::kSource, "sequence, communicator"},
    TableRule{"kernel", Owner::kSource, "name"},
    TableRule{"step", Owner::kSource, "sequence, ordinal"},
    TableRule{"step_kernel", Owner::kSource, "sequence, ordinal"},
    TableRule{"batch_step_kernels", Owner::kSource, "sequence"},
    TableRule{"bucket", Owner::kSource, "sequence"},
    TableRule{"collective_op", Owner::kSource, "communicator, op, dtype, bytes, library"},
    TableRule{"memory", Owner::kSource, "sequence, ordinal"},
    TableRule{"api", Owner::kSource, "sequence, ordinal"},
    TableRule{"range", Owner::kSource, "sequence, ordinal"},
    TableRule{"launch", Owner::kSource, "sequence, ordinal"},
    TableRule{"summary", Owner::kSource, "source"},
    TableRule{"file_note", Owner::kRun, "path, host"},
};

struct TableColumn {
  std::string_view table;
  std::string_view column;
  friend bool operator==(const TableColumn&, const TableColumn&) = default;
};
// Bookkeeping: listed with the reasons in aggregator/store/README.md.
constexpr std::array kBookkeeping = {
    TableColumn{"run", "id"},
    TableColumn{"run", "revision"},
    TableColumn{"run", "analysed_revision"},
    TableColumn{"source", "id"},
    TableColumn{"source", "rank"},
    TableColumn{"run", "changed_unix_ns"},
    TableColumn{"name", "id"},
    TableColumn{"batch", "instance_bytes"},
    TableColumn{"run", "sources"},
    TableColumn{"run", "names"},
    TableColumn{"run", "files"},
    TableColumn{"file_note", "note_id"},
};
// Ids of the source's dictionary: the text is told beside them.
constexpr std::array kNameIds = {
    TableColumn{"kernel", "name"}, TableColumn{"step", "name"},     TableColumn{"step_kernel", "name"},
    TableColumn{"api", "name"},    TableColumn{"range", "name"},    TableColumn{"range", "domain"},
    TableColumn{"launch", "api"},  TableColumn{"launch", "kernel"},
};

template <size_t n>
bool IsIn(const std::array<TableColumn, n>& columns, std::string_view table, std::string_view column) {
  return std::find(columns.begin(), columns.end(), TableColumn{table, column}) != columns.end();
}

const TableRule& RuleOf(std::string_view table) {
  const auto* rule = std::find_if(kRules.begin(), kRules.end(), [&](const TableRule& r) { return r.table == table; });
  LOCKSTEP_CHECK(rule != kRules.end());
  return *rule;
}

struct OutputColumn {
  std::string name;
  std::string expression;
};

// Every column that the table has, but bookkeeping and what tells the owner.
absl::StatusOr<std::vector<OutputColumn>> ColumnsOf(Database& db, const TableRule& rule) {
  const std::string_view owner = rule.owner == Owner::kRun ? "run" : rule.owner == Owner::kSource ? "source" : "";
  std::vector<OutputColumn> columns;
  LOCKSTEP_ASSIGN_OR_RETURN(Statement names, db.Prepare("SELECT name FROM pragma_table_info(?) ORDER BY cid"));
  Binder(names).Text(rule.table);
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, names.Step());
    if (!more) return columns;
    const std::string name(names.Text(0));
    if (name == owner || IsIn(kBookkeeping, rule.table, name)) continue;
    if (rule.table == "source_name" && name == "name") {
      columns.push_back({"name", "(SELECT hash FROM name WHERE name.id = t.name)"});
      continue;
    }
    columns.push_back({name, fmt::format("t.\"{}\"", name)});
    if (IsIn(kNameIds, rule.table, name)) {
      columns.push_back({name + "_text", fmt::format("(SELECT n.text FROM source_name sn JOIN name n ON n.id = sn.name "
                                                     "WHERE sn.source = t.source AND sn.local = t.\"{}\")",
                                                     name)});
    }
  }
}

std::string SelectSql(const TableRule& rule, const std::vector<OutputColumn>& columns) {
  std::string list;
  for (const OutputColumn& column : columns) list += (list.empty() ? "" : ", ") + column.expression;
  const std::string_view where = rule.owner == Owner::kRun      ? "WHERE t.run = ?"
                                 : rule.owner == Owner::kSource ? "WHERE t.source = ?"
                                                                : "";
  return fmt::format("SELECT {} FROM \"{}\" t {} ORDER BY {}", list, rule.table, where, rule.key);
}

// Row id and description of each owner, in canonical order.
std::string_view OwnersSql(Owner owner) {
  switch (owner) {
    case Owner::kStore:
      return "SELECT 0";
    case Owner::kRun:
      return "SELECT id, name FROM run ORDER BY name";
    case Owner::kSource:
      return "SELECT s.id, r.name, s.source_id FROM run r CROSS JOIN source s ON s.run = r.id "
             "ORDER BY r.name, s.source_id";
  }
  return "";
}

std::string OwnerText(Owner owner, const Statement& found) {
  std::string text;
  if (owner != Owner::kStore) {
    text += " run=";
    AppendQuoted(found.Text(1), &text);
  }
  if (owner == Owner::kSource) {
    text += " source=";
    AppendHex(found.Blob(2), &text);
  }
  return text;
}

void AppendValue(const Statement& row, int column, std::string* out) {
  switch (row.Type(column)) {
    case ColumnType::kNull:
      *out += "null";
      return;
    case ColumnType::kInteger:
      fmt::format_to(std::back_inserter(*out), "{}", row.Int(column));
      return;
    case ColumnType::kReal:  // shortest text that reads back as the same number
      fmt::format_to(std::back_inserter(*out), "{}", row.Real(column));
      return;
    case ColumnType::kText:
      AppendQuoted(row.Text(column), out);
      return;
    case ColumnType::kBlob:
      AppendHex(row.Blob(column), out);
      return;
  }
}

class TableDump {
 public:
  TableDump(Database& db, const TableRule& rule, const DumpSink& sink) : db_(db), rule_(rule), sink_(sink) {}

  absl::Status Write() {
    LOCKSTEP_RETURN_IF_ERROR(sink_(fmt::format("table {}\n", rule_.table)));
    LOCKSTEP_ASSIGN_OR_RETURN(columns_, ColumnsOf(db_, rule_));
    LOCKSTEP_ASSIGN_OR_RETURN(Statement owners, db_.Prepare(OwnersSql(rule_.owner)));
    LOCKSTEP_ASSIGN_OR_RETURN(Statement rows, db_.Prepare(SelectSql(rule_, columns_)));
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, owners.Step());
      if (!more) return CheckNoneLeft();
      LOCKSTEP_RETURN_IF_ERROR(WriteOwner(owners, rows));
    }
  }

 private:
  absl::Status WriteOwner(const Statement& owner, Statement& rows) {
    const std::string owner_text = OwnerText(rule_.owner, owner);
    rows.Reset();
    if (rule_.owner != Owner::kStore) rows.BindInt(1, owner.Int(0));
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, rows.Step());
      if (!more) return absl::OkStatus();
      LOCKSTEP_RETURN_IF_ERROR(WriteRow(owner_text, rows));
    }
  }

  absl::Status WriteRow(const std::string& owner, const Statement& row) {
    ++written_;
    std::string text = std::string(rule_.table) + owner;
    std::string blobs;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const auto column = static_cast<int>(i);
      if (FormOf(rule_.table, columns_[i].name) == BlobForm::kLines && row.Type(column) == ColumnType::kBlob) {
        LOCKSTEP_RETURN_IF_ERROR(AppendBlob(rule_.table, columns_[i].name, row.Blob(column), &blobs));
        continue;
      }
      fmt::format_to(std::back_inserter(text), " {}=", columns_[i].name);
      AppendValue(row, column, &text);
    }
    text.push_back('\n');
    return sink_(text + blobs);
  }

  // Rows of an owner that is not there would be missing from the text.
  absl::Status CheckNoneLeft() {
    LOCKSTEP_ASSIGN_OR_RETURN(Statement count, db_.Prepare(fmt::format("SELECT count(*) FROM \"{}\"", rule_.table)));
    LOCKSTEP_RETURN_IF_ERROR(count.Step().status());
    if (count.Int(0) == written_) return absl::OkStatus();
    return absl::DataLossError(fmt::format("{} rows of table {} belong to no source or run of the store",
                                           count.Int(0) - written_, rule_.table));
  }

  Database& db_;
  const TableRule& rule_;
  const DumpSink& sink_;
  std::vector<OutputColumn> columns_;
  int64_t written_ = 0;
};

}  // namespace

absl::Status DumpTable(Database& db, std::string_view table, const DumpSink& sink) {
  return TableDump(db, RuleOf(table), sink).Write();
}

}  // namespace lockstep
