// Small helpers over Statement: binding in order, and reading back what this store wrote. One thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "analysis/base/status_macros.h"
#include "platform/sqlite.h"

namespace lockstep {

// Binds parameters one after the other, from the first.
class Binder {
 public:
  explicit Binder(Statement& statement) : statement_(statement) {}

  Binder& Int(int64_t value) {
    statement_.BindInt(next_++, value);
    return *this;
  }
  // NULL where the value is the model's sentinel.
  Binder& OptionalInt(int64_t value, int64_t none) {
    if (value != none) return Int(value);
    statement_.BindNull(next_++);
    return *this;
  }
  Binder& Text(std::string_view value) {
    statement_.BindText(next_++, value);
    return *this;
  }
  // NULL where the text is empty.
  Binder& OptionalText(std::string_view value) {
    if (!value.empty()) return Text(value);
    statement_.BindNull(next_++);
    return *this;
  }
  Binder& Blob(std::string_view value) {
    statement_.BindBlob(next_++, value);
    return *this;
  }

 private:
  Statement& statement_;
  int next_ = 1;
};

// Calls fn(statement) for each row of a query with integer parameters.
template <typename Fn>
absl::Status ForEachRow(Database& db, std::string_view sql, std::initializer_list<int64_t> parameters, Fn fn) {
  LOCKSTEP_ASSIGN_OR_RETURN(Statement statement, db.Prepare(sql));
  Binder binder(statement);
  for (const int64_t parameter : parameters) binder.Int(parameter);
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const bool more, statement.Step());
    if (!more) return absl::OkStatus();
    LOCKSTEP_RETURN_IF_ERROR(fn(statement));
  }
}
template <typename Fn>
absl::Status ForEachRow(Database& db, std::string_view sql, int64_t parameter, Fn fn) {
  return ForEachRow(db, sql, {parameter}, std::move(fn));
}

// What does not decode was written whole and is damaged now: kDataLoss.
[[nodiscard]] inline absl::Status ReadBack(const absl::Status& status) {
  return status.ok() ? status : absl::DataLossError(std::string(status.message()));
}
template <typename T>
[[nodiscard]] absl::StatusOr<T> ReadBack(absl::StatusOr<T> value) {
  if (!value.ok()) return ReadBack(value.status());
  return value;
}

// The value of a column that may be NULL.
[[nodiscard]] inline int64_t IntOr(const Statement& row, int column, int64_t none) {
  return row.IsNull(column) ? none : row.Int(column);
}

}  // namespace lockstep
