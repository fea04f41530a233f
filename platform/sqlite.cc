#include "platform/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

// A full disk shows as an input/output error where SQLite did not expect one, such as a -shm file that cannot grow.
bool IsForWantOfRoom(sqlite3* db) {
  if (db == nullptr) return false;
  const int error = sqlite3_system_errno(db);
  return sqlite3_extended_errcode(db) == SQLITE_IOERR_SHMSIZE || error == ENOSPC || error == EDQUOT || error == EFBIG;
}

absl::Status StatusOf(sqlite3* db, int code, std::string_view what) {
  const std::string text = fmt::format("{}: {}", what, db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_OK:
      return absl::OkStatus();
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(text);
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(text + " (no room on the disk)");
    case SQLITE_CORRUPT:
      return absl::DataLossError(text);
    case SQLITE_NOTADB:
      return absl::InvalidArgumentError(text);
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return absl::PermissionDeniedError(text);
    case SQLITE_CANTOPEN:
      return IsForWantOfRoom(db) ? absl::ResourceExhaustedError(text + " (no room on the disk)")
                                 : absl::NotFoundError(text);
    case SQLITE_INTERRUPT:
      return absl::CancelledError(text);
    case SQLITE_IOERR:
      return IsForWantOfRoom(db) ? absl::ResourceExhaustedError(text + " (no room on the disk)")
                                 : absl::DataLossError(text + " (input/output error)");
    default:
      return absl::InternalError(text);
  }
}

std::string UriOf(const std::string& path, Database::Mode mode) {
  if (mode == Database::Mode::kMemory) return ":memory:";
  if (mode == Database::Mode::kReadWriteCreate) return path;
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?mode=ro&nolock=1&immutable=1";
}

int InterruptTrampoline(void* check) { return (*static_cast<std::function<bool()>*>(check))() ? 1 : 0; }

}  // namespace

// Statements of one connection that nobody uses at the moment, by their text.
class StatementPool {
 public:
  StatementPool() = default;
  ~StatementPool() {
    for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  }
  StatementPool(const StatementPool&) = delete;
  StatementPool& operator=(const StatementPool&) = delete;

  // Null: there is none of this text.
  sqlite3_stmt* Take(std::string_view sql) {
    const auto found = statements_.find(sql);
    return found == statements_.end() ? nullptr : std::exchange(found->second, nullptr);
  }
  void Give(sqlite3_stmt* statement) {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    const std::string_view sql = sqlite3_sql(statement);
    auto place = statements_.find(sql);
    if (place == statements_.end() && statements_.size() < kMost)
      place = statements_.try_emplace(std::string(sql)).first;
    if (place == statements_.end() || place->second != nullptr) {
      sqlite3_finalize(statement);
    } else {
      place->second = statement;
    }
  }

 private:
  static constexpr size_t kMost = 128;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

Statement::Statement(sqlite3* db, sqlite3_stmt* statement, std::string what, std::shared_ptr<StatementPool> pool)
    : db_(db), statement_(statement), what_(std::move(what)), pool_(std::move(pool)) {}
Statement::~Statement() {
  if (pool_ != nullptr && statement_ != nullptr) {
    pool_->Give(statement_);
  } else {
    sqlite3_finalize(statement_);
  }
}
Statement::Statement(Statement&& other) noexcept
    : db_(other.db_),
      statement_(std::exchange(other.statement_, nullptr)),
      what_(std::move(other.what_)),
      pool_(std::move(other.pool_)) {}
Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(statement_, other.statement_);
  std::swap(what_, other.what_);
  std::swap(pool_, other.pool_);
  return *this;
}

void Statement::BindInt(int index, int64_t value) { sqlite3_bind_int64(statement_, index, value); }
void Statement::BindReal(int index, double value) { sqlite3_bind_double(statement_, index, value); }
void Statement::BindText(int index, std::string_view value) {
  sqlite3_bind_text64(statement_, index, value.data() != nullptr ? value.data() : "", value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
}
void Statement::BindBlob(int index, std::string_view value) {
  sqlite3_bind_blob64(statement_, index, value.data() != nullptr ? value.data() : "", value.size(), SQLITE_TRANSIENT);
}
void Statement::BindNull(int index) { sqlite3_bind_null(statement_, index); }
void Statement::Reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

absl::StatusOr<bool> Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return StatusOf(db_, code, what_);
}

absl::Status Statement::Run() {
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = Step();
  Reset();
  return more.ok() ? absl::OkStatus() : std::move(more).status();
}

int Statement::Columns() const { return sqlite3_column_count(statement_); }
ColumnType Statement::Type(int column) const {
  switch (sqlite3_column_type(statement_, column)) {
    case SQLITE_INTEGER:
      return ColumnType::kInteger;
    case SQLITE_FLOAT:
      return ColumnType::kReal;
    case SQLITE_TEXT:
      return ColumnType::kText;
    case SQLITE_BLOB:
      return ColumnType::kBlob;
    default:
      return ColumnType::kNull;
  }
}
int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_, column); }
std::string_view Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}
std::string_view Statement::Blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return bytes == nullptr ? std::string_view()
                          : std::string_view(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

bool RowValues::IsNull(int column) const { return sqlite3_value_type(values_[column]) == SQLITE_NULL; }
bool RowValues::ReadInteger(int column, int64_t& value) const {
  sqlite3_value* const cell = values_[column];
  if (sqlite3_value_type(cell) != SQLITE_INTEGER) return false;
  value = sqlite3_value_int64(cell);
  return true;
}
std::string_view RowValues::TextIfText(int column) const {
  sqlite3_value* const value = values_[column];
  if (sqlite3_value_type(value) != SQLITE_TEXT) return {};
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_value_bytes(value))};
}
std::string_view RowValues::BlobIfBlob(int column) const {
  sqlite3_value* const value = values_[column];
  if (sqlite3_value_type(value) != SQLITE_BLOB) return {};
  const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(sqlite3_value_bytes(value))};
}

struct Database::Visit {
  absl::FunctionRef<bool(const RowValues&)> visit;
  bool stopped = false;
};

Database::Database(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}
Database::~Database() {
  pool_.reset();  // else they would keep the connection open
  sqlite3_close_v2(db_);
}
Database::Database(Database&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)),
      path_(std::move(other.path_)),
      interrupt_(std::move(other.interrupt_)),
      pool_(std::move(other.pool_)),
      visit_(std::move(other.visit_)) {}
Database& Database::operator=(Database&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(path_, other.path_);
  std::swap(interrupt_, other.interrupt_);
  std::swap(pool_, other.pool_);
  std::swap(visit_, other.visit_);
  return *this;
}

absl::StatusOr<Database> Database::Open(const std::string& path, Mode mode) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == Mode::kImmutableReadOnly ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
                                            : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(UriOf(path, mode).c_str(), &raw, flags, nullptr);
  Database db(raw, mode == Mode::kMemory ? ":memory:" : path);
  if (code != SQLITE_OK) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code unknown;
    if (!folder.empty() && !std::filesystem::exists(folder, unknown) && !unknown) {
      return absl::NotFoundError(fmt::format("cannot open {}: the folder {} does not exist", path, folder.string()));
    }
    return StatusOf(raw, code, fmt::format("cannot open {}", path));
  }
  sqlite3_busy_timeout(raw, 10'000);
  return db;
}

absl::StatusOr<Database> Database::OpenBytes(std::string_view bytes) {
  LOCKSTEP_ASSIGN_OR_RETURN(Database db, Open("", Mode::kMemory));
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (copy == nullptr) return absl::ResourceExhaustedError("no memory for the database image");
  std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  const int code = sqlite3_deserialize(db.db_, "main", copy, size, size,
                                       SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) return StatusOf(db.db_, code, "cannot open the database image");
  return db;
}

absl::StatusOr<Statement> Database::Prepare(std::string_view sql) {
  std::string what = fmt::format("{}: {}", path_, sql.substr(0, 120));
  if (pool_ != nullptr) {
    if (sqlite3_stmt* const kept = pool_->Take(sql); kept != nullptr) {
      return Statement(db_, kept, std::move(what), pool_);
    }
  }
  const unsigned int flags = pool_ != nullptr ? SQLITE_PREPARE_PERSISTENT : 0;
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(db_, sql.data(), static_cast<int>(sql.size()), flags, &statement, nullptr);
  if (code != SQLITE_OK) return StatusOf(db_, code, what);
  return Statement(db_, statement, std::move(what), pool_);
}

void Database::KeepStatements() { pool_ = std::make_shared<StatementPool>(); }

absl::Status Database::Execute(std::string_view sql) {
  const std::string text(sql);
  const int code = sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : StatusOf(db_, code, fmt::format("{}: {}", path_, sql.substr(0, 120)));
}

void Database::VisitRow(sqlite3_context* context, int /*columns*/, sqlite3_value** values) {
  Visit& visit = **static_cast<Visit**>(sqlite3_user_data(context));
  if (visit.visit(RowValues(values))) return;
  visit.stopped = true;
  sqlite3_result_error_code(context, SQLITE_ABORT);
}

// An aggregate function: its steps are the visits, and its one result is not looked at. No schema can call it.
absl::Status Database::RegisterVisits() {
  visit_ = std::make_unique<Visit*>(nullptr);
  const int code = sqlite3_create_function_v2(
      db_, "visit_row", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, visit_.get(), nullptr, &VisitRow, [](sqlite3_context*) {},
      nullptr);
  if (code == SQLITE_OK) return absl::OkStatus();
  visit_.reset();
  return StatusOf(db_, code, fmt::format("cannot visit rows of {}", path_));
}

absl::Status Database::VisitRows(std::string_view columns, std::string_view from,
                                 absl::FunctionRef<bool(const RowValues&)> visit) {
  if (visit_ == nullptr) LOCKSTEP_RETURN_IF_ERROR(RegisterVisits());
  LOCKSTEP_ASSIGN_OR_RETURN(Statement statement, Prepare(fmt::format("{}{}) FROM {}", kVisitRows, columns, from)));
  Visit own{visit};
  Visit* const outer = std::exchange(*visit_, &own);
  const absl::Status status = statement.Step().status();
  *visit_ = outer;
  return own.stopped ? absl::OkStatus() : status;
}

void Database::DisableSchemaCode() {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
}

void Database::DistrustSchema() {
  DisableSchemaCode();
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, 64 << 20);
  sqlite3_limit(db_, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
  sqlite3_limit(db_, SQLITE_LIMIT_COLUMN, 500);
  sqlite3_limit(db_, SQLITE_LIMIT_EXPR_DEPTH, 50);
}

void Database::TolerateTruncation() {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
}

void Database::SetInterruptCheck(std::function<bool()> check) {
  interrupt_ = std::make_unique<std::function<bool()>>(std::move(check));
  sqlite3_progress_handler(db_, 10'000, *interrupt_ ? &InterruptTrampoline : nullptr, interrupt_.get());
}

std::string Database::LogPath() const {
  const char* const file = sqlite3_db_filename(db_, "main");
  return file == nullptr || *file == '\0' ? std::string() : sqlite3_filename_wal(file);
}

int64_t Database::LastInsertRowId() const { return sqlite3_last_insert_rowid(db_); }
int64_t Database::Changes() const { return sqlite3_changes64(db_); }
int64_t Database::TotalChanges() const { return sqlite3_total_changes64(db_); }

absl::StatusOr<Transaction> Transaction::Begin(Database& db) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement begin, db.Prepare("BEGIN IMMEDIATE"));
  LOCKSTEP_RETURN_IF_ERROR(begin.Run());
  return Transaction(db);
}
Transaction::~Transaction() {
  if (db_ != nullptr) db_->Execute("ROLLBACK").IgnoreError();
}
Transaction::Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
absl::Status Transaction::Commit() {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement commit, db_->Prepare("COMMIT"));
  LOCKSTEP_RETURN_IF_ERROR(commit.Run());
  db_ = nullptr;
  return absl::OkStatus();
}

}  // namespace lockstep
