#include "analysis/report/csv/csv_writer.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/report/json.h"
#include "analysis/report/text/text_words.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

std::string Joined(std::string_view prefix, std::string_view key) {
  return prefix.empty() ? std::string(key) : std::string(prefix) + "_" + std::string(key);
}

bool HoldsStructures(const Json& list) {
  return std::any_of(list.begin(), list.end(), [](const Json& item) { return item.is_structured(); });
}

std::string JoinScalars(const Json& list) {
  std::string text;
  for (const Json& item : list) {
    if (&item != &list.front()) text += ' ';
    text += PlainText(item);
  }
  const bool has_text = std::any_of(list.begin(), list.end(), [](const Json& item) { return item.is_string(); });
  return has_text ? GuardFormula(text) : text;
}

// The digits of RenderJson on one line.
std::string CompactJson(const Json& value) {
  return Json::parse(RenderJson(value), nullptr, false).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Flatten(const Json& value, const std::string& name, CsvFields& fields) {
  if (!value.is_object()) {
    fields.emplace_back(name, CsvCell(value));
    return;
  }
  for (const auto& [key, inner] : value.items()) Flatten(inner, Joined(name, key), fields);
}

void AddColumns(const report::Record& record, const std::string& prefix, std::vector<std::string>& columns) {
  for (const report::Field& field : record.fields()) {
    if (field.later || field.left_out_if_null) continue;
    const report::Type& type = *field.type();
    const std::string name = Joined(prefix, field.name);
    if (type.shape() == report::Shape::kObject) {
      AddColumns(*type.Inner(), name, columns);
    } else if (type.shape() != report::Shape::kKeyed) {
      columns.push_back(name);
    }
  }
}

// A null where other rows, or the schema, have an object is no column of its own.
bool IsPrefix(const std::string& name, const std::set<std::string>& columns) {
  const auto next = columns.upper_bound(name + "_");
  return next != columns.end() && next->starts_with(name + "_");
}

void AddFurtherColumns(const std::vector<CsvFields>& rows, std::vector<std::string>& columns) {
  std::set<std::string> known(columns.begin(), columns.end());
  std::set<std::string> all = known;
  for (const CsvFields& row : rows) {
    for (const auto& [name, cell] : row) all.insert(name);
  }
  for (const CsvFields& row : rows) {
    for (const auto& [name, cell] : row) {
      if (cell.empty() && IsPrefix(name, all)) continue;
      if (known.insert(name).second) columns.push_back(name);
    }
  }
}

}  // namespace

std::string GuardFormula(std::string_view text) {
  constexpr std::string_view kStarts = "=+-@\t\r";
  const bool formula = !text.empty() && kStarts.find(text.front()) != std::string_view::npos;
  return (formula ? "'" : "") + Printable(text);
}

std::string QuoteCell(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(cell);
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    line += QuoteCell(cells[i]);
  }
  return line + "\n";
}

std::string CsvCell(const Json& value) {
  if (value.is_string()) return GuardFormula(TextOf(value));
  if (!value.is_structured()) return PlainText(value);
  if (value.empty()) return "";
  if (value.is_array() && !HoldsStructures(value)) return JoinScalars(value);
  return CompactJson(value);
}

CsvFields FlattenRow(const Json& row) {
  CsvFields fields;
  Flatten(row, "", fields);
  return fields;
}

std::vector<std::string> ColumnsOf(const report::Record& record) {
  std::vector<std::string> columns;
  AddColumns(record, "", columns);
  return columns;
}

std::string WriteCsv(std::vector<std::string> columns, const Json& rows) {
  std::vector<CsvFields> flat;
  for (const Json& row : rows) flat.push_back(FlattenRow(row));
  AddFurtherColumns(flat, columns);
  std::string text = CsvLine(columns);
  std::vector<std::string> cells;
  for (CsvFields& row : flat) {
    std::map<std::string, std::string> by_name;
    for (auto& [name, cell] : row) by_name.emplace(name, std::move(cell));
    cells.clear();
    for (const std::string& column : columns) {
      const auto found = by_name.find(column);
      cells.push_back(found == by_name.end() ? "" : found->second);
    }
    text += CsvLine(cells);
  }
  return text;
}

}  // namespace lockstep
