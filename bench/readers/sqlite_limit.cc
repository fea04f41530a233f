#include "bench/readers/sqlite_limit.h"

#include <absl/status/status.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>
#include <string_view>

#include "platform/sqlite.h"

namespace lockstep {
namespace {

std::vector<std::string>& Overheard() {
  static std::vector<std::string> statements;
  return statements;
}

// The same columns of the same rows, to be stepped through: the reader has its rows handed over by the database.
std::string PlainSelect(std::string_view sql) {
  const size_t end = sql.find(") FROM ");
  if (!sql.starts_with(kVisitRows) || end == std::string_view::npos) return std::string(sql);
  return fmt::format("SELECT {}{}", sql.substr(kVisitRows.size(), end - kVisitRows.size()), sql.substr(end + 1));
}

int OnStatement(unsigned /*kind*/, void* /*context*/, void* statement, void* /*text*/) {
  const std::string_view sql = sqlite3_sql(static_cast<sqlite3_stmt*>(statement));
  if (sql.substr(0, 7) == "SELECT ") Overheard().push_back(PlainSelect(sql));
  return 0;
}

int OnConnection(sqlite3* connection, const char** /*error*/, const void* /*routines*/) {
  return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, &OnStatement, nullptr);
}

struct Closer {
  void operator()(sqlite3* connection) const { sqlite3_close(connection); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

uint64_t FetchRow(sqlite3_stmt* row, int columns) {
  uint64_t sum = 0;
  for (int i = 0; i < columns; ++i) {
    switch (sqlite3_column_type(row, i)) {
      case SQLITE_INTEGER:
        sum = sum * 31 + static_cast<uint64_t>(sqlite3_column_int64(row, i));
        break;
      case SQLITE_TEXT:
      case SQLITE_BLOB:
        sum = sum * 31 + static_cast<uint64_t>(sqlite3_column_blob(row, i) != nullptr) +
              static_cast<uint64_t>(sqlite3_column_bytes(row, i));
        break;
      default:
        break;
    }
  }
  return sum;
}

}  // namespace

OverheardSelects::OverheardSelects() {
  Overheard().clear();
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(&OnConnection));
}
OverheardSelects::~OverheardSelects() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&OnConnection)); }
std::vector<std::string> OverheardSelects::statements() const { return Overheard(); }

absl::StatusOr<SqliteScan> RunSelects(const std::string& path, const std::vector<std::string>& statements) {
  sqlite3* raw = nullptr;
  const std::string uri = "file:" + path + "?immutable=1";
  const int opened =
      sqlite3_open_v2(uri.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  const std::unique_ptr<sqlite3, Closer> connection(raw);
  if (opened != SQLITE_OK) return absl::InvalidArgumentError(fmt::format("{}: {}", path, sqlite3_errmsg(raw)));
  SqliteScan scan;
  for (const std::string& sql : statements) {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(raw, sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK) {
      return absl::InvalidArgumentError(fmt::format("{}: {}: {}", path, sql, sqlite3_errmsg(raw)));
    }
    const std::unique_ptr<sqlite3_stmt, Closer> statement(prepared);
    const int columns = sqlite3_column_count(prepared);
    while (sqlite3_step(prepared) == SQLITE_ROW) {
      ++scan.rows;
      scan.checksum += FetchRow(prepared, columns);
    }
  }
  return scan;
}

}  // namespace lockstep
