// Early return for absl::Status values. Abseil 20220623 has no such macros of its own.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <utility>

#define LOCKSTEP_RETURN_IF_ERROR(expression)             \
  do {                                                   \
    ::absl::Status lockstep_status_ = (expression);      \
    if (!lockstep_status_.ok()) return lockstep_status_; \
  } while (false)

#define LOCKSTEP_CONCAT_INNER_(a, b) a##b
#define LOCKSTEP_CONCAT_(a, b) LOCKSTEP_CONCAT_INNER_(a, b)

// LOCKSTEP_ASSIGN_OR_RETURN(auto value, MakeValue());
#define LOCKSTEP_ASSIGN_OR_RETURN(lhs, expression) \
  LOCKSTEP_ASSIGN_OR_RETURN_IMPL_(LOCKSTEP_CONCAT_(lockstep_statusor_, __LINE__), lhs, expression)

#define LOCKSTEP_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, expression) \
  auto statusor = (expression);                                    \
  if (!statusor.ok()) return std::move(statusor).status();         \
  lhs = std::move(statusor).value()
