// Rows of the views memory and allocation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/percentiles.h"

namespace lockstep::report {

struct CopiesByMemory {
  std::string source;
  std::string target;
  Count operations;
  Count bytes;
  Count total_ns;

  static const Record& Fields();
};

struct MemoryRow {
  std::string kind;
  Count operations;
  std::optional<Count> bytes;
  Count total_ns;
  Percentiles duration_ns;
  Percentiles bandwidth_gbps;
  Percentiles size_bytes;
  std::optional<Count> blocking;
  std::vector<CopiesByMemory> by_memory;

  static const Record& Fields();
};

struct AllocationPoint {
  int64_t t_ns = 0;
  int64_t bytes = 0;

  static const Record& Fields();
};

struct AllocationRow {
  int32_t rank = 0;
  std::optional<Count> peak_bytes;
  std::optional<int64_t> peak_at_ns;
  std::vector<AllocationPoint> level;

  static const Record& Fields();
};

}  // namespace lockstep::report
