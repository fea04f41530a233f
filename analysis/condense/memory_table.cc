#include "analysis/condense/memory_table.h"

#include <algorithm>
#include <utility>

#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// bytes per second, rounded down; sizes in traces are far below 2^63 / 1e9 only in 128 bits.
int64_t Bandwidth(int64_t bytes, int64_t duration_ns) {
  const auto rate = static_cast<uint128>(bytes) * 1'000'000'000U / static_cast<uint128>(duration_ns);
  return static_cast<int64_t>(std::min<uint128>(rate, uint128{1} << 60));
}

}  // namespace

void MemoryTable::Add(const ActivityRecord& activity) {
  const bool is_memset = activity.kind == DeviceKind::kMemset;
  MemoryRow& row = rows_[{is_memset, activity.copy_kind, activity.source_memory, activity.target_memory}];
  row.is_memset = is_memset;
  row.kind = activity.copy_kind;
  row.source = activity.source_memory;
  row.target = activity.target_memory;
  row.on_device = !IsOffDevice(activity);
  row.duration.Add(activity.duration_ns);
  if (activity.launch_end_ns != kNoTime && activity.launch_end_ns >= activity.end_ns()) ++row.blocking;
  if (activity.bytes < 0) return;
  row.bytes.Add(activity.bytes);
  if (activity.duration_ns > 0) row.bandwidth_bytes_per_s.Add(Bandwidth(activity.bytes, activity.duration_ns));
}

std::vector<MemoryRow> MemoryTable::TakeRows() {
  std::vector<MemoryRow> rows;
  for (auto& [key, row] : rows_) rows.push_back(std::move(row));
  rows_.clear();
  return rows;
}

void AllocationLevel::Add(int64_t time_ns, int64_t delta_bytes) {
  // Absurd deltas saturate: the level is for people, and must not overflow.
  constexpr int64_t kLimit = int64_t{1} << 52;
  level_ = std::clamp(level_ + std::clamp(delta_bytes, -kLimit, kLimit), -kLimit, kLimit);
  if (level_ > peak_ || peak_at_ns_ == kNoTime) {
    peak_ = level_;
    peak_at_ns_ = time_ns;
  }
  points_.push_back({time_ns, level_});
  if (points_.size() >= 2 * kMaxPoints) Thin();
}

void AllocationLevel::Thin() {
  std::vector<AllocationPoint> thinned;
  for (size_t i = 0; i + 1 < points_.size(); i += 2) {
    thinned.push_back(points_[i].level_bytes >= points_[i + 1].level_bytes ? points_[i] : points_[i + 1]);
  }
  points_ = std::move(thinned);
}

void AllocationLevel::FillIn(SourceSummary& summary) const {
  if (peak_at_ns_ == kNoTime) return;
  summary.allocation = points_;
  summary.allocation_peak_bytes = std::max<int64_t>(0, peak_);
  summary.allocation_peak_at_ns = peak_at_ns_;
}

}  // namespace lockstep
