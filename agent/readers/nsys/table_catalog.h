// Which of the known tables and columns one database really has. Exports create tables lazily and columns come and go
// with the schema, so every statement is built from this.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/readers/nsys/nsys_schema.h"
#include "platform/sqlite.h"

namespace lockstep::nsys {

class TableCatalog {
 public:
  // Enumerates the real tables: views and virtual tables of a hostile file count as absent. kInvalidArgument when the
  // database is no nsys export.
  static absl::StatusOr<TableCatalog> Load(Database& db);

  [[nodiscard]] bool Has(const Table& table) const { return columns_.contains(table.name); }
  [[nodiscard]] bool Has(const Table& table, int field) const;
  // The column stands for the row id, so that a look-up by it is a seek.
  [[nodiscard]] bool IsRowId(const Table& table, int field) const;

 private:
  struct FoundColumn {
    std::string name;
    bool row_id = false;
  };
  absl::Status LoadColumns(Database& db, const Table& table);
  [[nodiscard]] const FoundColumn* Find(const Table& table, int field) const;

  std::map<std::string, std::vector<FoundColumn>, std::less<>> columns_;
};

}  // namespace lockstep::nsys
