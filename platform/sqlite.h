// sqlite3 behind RAII types; the only place of the project that includes sqlite3.h.
//
// Errors are absl::Status with the file, what was attempted and sqlite's own words. Busy is kUnavailable, a full disk
// kResourceExhausted, a damaged file kDataLoss, "not a database" kInvalidArgument, no permission kPermissionDenied.
// Thread rule: a Database and its statements belong to one thread at a time.
#pragma once

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_context;
struct sqlite3_stmt;
struct sqlite3_value;

namespace lockstep {

enum class ColumnType : uint8_t { kNull, kInteger, kReal, kText, kBlob };

class StatementPool;

// A prepared statement. Views returned by Text and Blob stay valid until the next Step, Reset or destruction.
class Statement {
 public:
  // Given back to the pool in the end, if there is one.
  Statement(sqlite3* db, sqlite3_stmt* statement, std::string what, std::shared_ptr<StatementPool> pool);
  ~Statement();
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Bindings are 1-based, as in SQL. Text and blobs are copied.
  void BindInt(int index, int64_t value);
  void BindReal(int index, double value);
  void BindText(int index, std::string_view value);
  void BindBlob(int index, std::string_view value);
  void BindNull(int index);
  void Reset();  // also forgets the bindings

  // True while there is a row; false at the end.
  absl::StatusOr<bool> Step();
  // For statements without rows: Step until done, then Reset.
  absl::Status Run();

  // Columns are 0-based.
  [[nodiscard]] int Columns() const;
  [[nodiscard]] ColumnType Type(int column) const;
  [[nodiscard]] bool IsNull(int column) const { return Type(column) == ColumnType::kNull; }
  [[nodiscard]] int64_t Int(int column) const;
  [[nodiscard]] double Real(int column) const;
  [[nodiscard]] std::string_view Text(int column) const;
  [[nodiscard]] std::string_view Blob(int column) const;

 private:
  sqlite3* db_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  std::string what_;
  std::shared_ptr<StatementPool> pool_;
};

// The values of a row while it is visited. Columns are 0-based; views stay valid until the visit ends.
class RowValues {
 public:
  explicit RowValues(sqlite3_value** values) : values_(values) {}

  [[nodiscard]] bool IsNull(int column) const;
  // False, and the value as it was, for what SQLite holds as another type. No std::optional: this is done for every
  // cell, and what is returned in pieces cannot be read back as a whole before it is written out.
  [[nodiscard]] bool ReadInteger(int column, int64_t& value) const;
  // Nothing for another type.
  [[nodiscard]] std::string_view TextIfText(int column) const;
  [[nodiscard]] std::string_view BlobIfBlob(int column) const;

 private:
  sqlite3_value** values_;
};

// How the statements of Database::VisitRows begin; behind it the columns, a closing parenthesis and " FROM ".
inline constexpr std::string_view kVisitRows = "SELECT visit_row(";

class Database {
 public:
  enum class Mode : uint8_t {
    kImmutableReadOnly,  // mode=ro, nolock, immutable: exports on read-only and network file systems
    kReadWriteCreate,
    kMemory,  // path is ignored
  };

  static absl::StatusOr<Database> Open(const std::string& path, Mode mode);
  // A read-only database over a copy of these bytes (tests and fuzzers).
  static absl::StatusOr<Database> OpenBytes(std::string_view bytes);
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  absl::StatusOr<Statement> Prepare(std::string_view sql);
  // From now on statements are kept when they are done with, and are there at once when the same text is prepared
  // again.
  void KeepStatements();
  absl::Status Execute(std::string_view sql);  // one or more statements, rows ignored
  // SELECT `columns` FROM `from`, its rows one after the other until `visit` returns false. Much cheaper than to step
  // through them: the rows are handed over inside the database's machine. The visit may run other statements.
  absl::Status VisitRows(std::string_view columns, std::string_view from,
                         absl::FunctionRef<bool(const RowValues&)> visit);
  // Nothing that the file itself brings is run: no view, no trigger, no function with effects, no extension.
  void DisableSchemaCode();
  // Hardening for files of strangers: the same, defensive mode, untrusted schema, no extensions, limits on lengths and
  // depth.
  void DistrustSchema();
  // Lets a read-only database that is shorter than its header says be read as far as it goes (otherwise every statement
  // fails). Lifts the defensive mode of DistrustSchema, which guards writes only; its other limits stay.
  void TolerateTruncation();
  // Called every few thousand virtual machine steps; true interrupts (the statement then fails with kCancelled).
  void SetInterruptCheck(std::function<bool()> check);
  [[nodiscard]] const std::string& path() const { return path_; }
  // Of the write-ahead log, which lies beside the file itself and not beside a link to it.
  [[nodiscard]] std::string LogPath() const;
  [[nodiscard]] int64_t LastInsertRowId() const;
  [[nodiscard]] int64_t Changes() const;
  // Rows that all statements so far have changed.
  [[nodiscard]] int64_t TotalChanges() const;

 private:
  struct Visit;  // under way

  Database(sqlite3* db, std::string path);
  absl::Status RegisterVisits();
  static void VisitRow(sqlite3_context* context, int columns, sqlite3_value** values);

  sqlite3* db_ = nullptr;
  std::string path_;
  std::unique_ptr<std::function<bool()>> interrupt_;
  std::shared_ptr<StatementPool> pool_;  // null: statements are not kept
  std::unique_ptr<Visit*> visit_;        // the innermost; null until the first one
};

// BEGIN IMMEDIATE ... COMMIT; rolls back when destroyed uncommitted.
class Transaction {
 public:
  static absl::StatusOr<Transaction> Begin(Database& db);
  ~Transaction();
  Transaction(Transaction&& other) noexcept;
  Transaction(const Transaction&) = delete;
  absl::Status Commit();

 private:
  explicit Transaction(Database& db) : db_(&db) {}
  Database* db_;
};

}  // namespace lockstep
