// Tables of nsys' SQLite export, by schema version: the columns that exist, in order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// Columns as words: name, then any of
//   !      NOT NULL (0, or '' for text, where a row does not give it)
//   /T /R /P   declared TEXT, REAL, INTEGER PRIMARY KEY instead of INTEGER
//   @n     since schema 3.n      ^n  until before schema 3.n
// `since` and `until` bound the table itself in the same numbers (kSchema27 is schema 2.7).
struct NsysTableSpec {
  std::string_view name;
  std::string_view columns;
  int since = -100;
  int until = 100;
};

// nullptr: no such table.
[[nodiscard]] const NsysTableSpec* FindNsysTable(std::string_view name);

struct NsysColumn {
  std::string name;
  std::string type;  // "INTEGER", "TEXT", "REAL"
  bool not_null = false;
  bool primary_key = false;
};
// The columns of the table in this schema; empty if the table does not exist in it.
[[nodiscard]] std::vector<NsysColumn> NsysColumns(const NsysTableSpec& table, int schema_minor);

struct NsysRelease {
  int schema_minor = 0;
  std::string_view schema;           // "3.25.0"
  std::string_view product_version;  // "2026.2.1.210"
  std::string_view product_date;
};
[[nodiscard]] const NsysRelease& NsysReleaseOf(int schema_minor);

}  // namespace lockstep
