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

  // Later exports give a table that changed a new name ("..._V2"). One that has the columns that are needed of the
  // table as we know it is read in its place.
  struct NewerTable {
    std::string name;
    std::string known;  // the table that it stands for
    bool read = false;
  };
  [[nodiscard]] const std::vector<NewerTable>& newer() const { return newer_; }
  // What the table is called in this file.
  [[nodiscard]] std::string_view NameOf(const Table& table) const;

  [[nodiscard]] bool Has(const Table& table) const { return columns_.contains(table.name); }
  [[nodiscard]] bool Has(const Table& table, int field) const;
  // The column stands for the row id, so that a look-up by it is a seek.
  [[nodiscard]] bool IsRowId(const Table& table, int field) const;

 private:
  struct FoundColumn {
    std::string name;
    bool row_id = false;
  };
  absl::Status LoadColumns(Database& db, const Table& table, const std::string& name);
  absl::Status LoadNewer(Database& db, const Table& table, const std::string& name);
  [[nodiscard]] const FoundColumn* Find(const Table& table, int field) const;

  std::map<std::string, std::vector<FoundColumn>, std::less<>> columns_;
  std::vector<NewerTable> newer_;
};

}  // namespace lockstep::nsys
