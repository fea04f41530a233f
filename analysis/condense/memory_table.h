// Copies and memsets by kind, and the allocation level of the device. One thread, no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/model/memory_row.h"
#include "analysis/model/row_values.h"
#include "analysis/model/source_summary.h"

namespace lockstep {

class MemoryTable {
 public:
  void Add(const ActivityRecord& activity);
  [[nodiscard]] std::vector<MemoryRow> TakeRows();

 private:
  std::map<std::tuple<bool, CopyKind, MemoryKind, MemoryKind>, MemoryRow> rows_;
};

// The running sum of allocations, thinned to at most kMaxPoints points (each the highest level of its stretch of time).
class AllocationLevel {
 public:
  static constexpr size_t kMaxPoints = 512;

  void Add(int64_t time_ns, int64_t delta_bytes);
  void FillIn(SourceSummary& summary) const;

 private:
  void Thin();

  int64_t level_ = 0;
  int64_t peak_ = -1;
  int64_t peak_at_ns_ = kNoTime;
  std::vector<AllocationPoint> points_;
};

}  // namespace lockstep
