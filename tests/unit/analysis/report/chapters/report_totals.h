// Totals of a report that do not hang on how its rows are cut.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/report/json.h"

namespace lockstep {

// Of a field of all collectives.
inline int64_t TotalOf(const Json& report, const std::string& field) {
  int64_t sum = 0;
  for (const Json& row : report["collectives"]) sum += row[field].is_null() ? 0 : row[field].get<int64_t>();
  return sum;
}

}  // namespace lockstep
