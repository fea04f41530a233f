#include "bench/simulator/nsys/nsys_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "bench/simulator/nsys/nsys_schema.h"

namespace lockstep {

void Cell::Bind(Statement& statement, int index) const {
  switch (kind_) {
    case Kind::kNull:
      return statement.BindNull(index);
    case Kind::kInteger:
      return statement.BindInt(index, integer_);
    case Kind::kText:
      return statement.BindText(index, text_);
    case Kind::kBlob:
      return statement.BindBlob(index, text_);
  }
}

NsysTable::NsysTable(Database* db, int schema_minor, std::string_view table, std::vector<std::string_view> columns)
    : db_(db), schema_minor_(schema_minor), table_(table), columns_(std::move(columns)) {}

absl::Status NsysTable::Open() {
  const NsysTableSpec* spec = FindNsysTable(table_);
  LOCKSTEP_CHECK(spec != nullptr);
  opened_ = true;
  parameters_.assign(columns_.size(), 0);
  const std::vector<NsysColumn> columns = NsysColumns(*spec, schema_minor_);
  if (columns.empty()) return absl::OkStatus();
  std::vector<std::string> declared;
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (const NsysColumn& column : columns) {
    declared.push_back(fmt::format("    {:<27} {:<9}{}{}", column.name, column.type, column.not_null ? " NOT NULL" : "",
                                   column.primary_key ? " PRIMARY KEY" : ""));
    const auto given = std::find(columns_.begin(), columns_.end(), column.name);
    if (given == columns_.end() && (!column.not_null || column.primary_key)) continue;
    names.push_back(fmt::format("\"{}\"", column.name));
    if (given == columns_.end()) {
      values.emplace_back(column.name == "tensorSizeMinusOneElements" ? "'[]'" : column.type == "TEXT" ? "''" : "0");
    } else {
      const auto position = static_cast<int>(given - columns_.begin()) + 1;
      parameters_[static_cast<size_t>(position - 1)] = position;
      values.push_back(fmt::format("?{}", position));
    }
  }
  LOCKSTEP_RETURN_IF_ERROR(db_->Execute(fmt::format("CREATE TABLE {} (\n{}\n)", table_, fmt::join(declared, ",\n"))));
  LOCKSTEP_ASSIGN_OR_RETURN(insert_, db_->Prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", table_,
                                                              fmt::join(names, ", "), fmt::join(values, ", "))));
  return absl::OkStatus();
}

absl::Status NsysTable::Row(std::initializer_list<Cell> cells) {
  LOCKSTEP_CHECK(cells.size() == columns_.size());
  if (!opened_) LOCKSTEP_RETURN_IF_ERROR(Open());
  if (!insert_) return absl::OkStatus();
  size_t i = 0;
  for (const Cell& cell : cells) {
    if (parameters_[i] != 0) cell.Bind(*insert_, parameters_[i]);
    ++i;
  }
  return insert_->Run();
}

}  // namespace lockstep
