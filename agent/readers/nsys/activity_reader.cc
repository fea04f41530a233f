#include "agent/readers/nsys/activity_reader.h"

#include <algorithm>

#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"

namespace lockstep::nsys {
namespace {

constexpr int64_t kDeviceMemory = 2;
// Overhead types of CUPTI that are the program's, not the profiler's: 2 driver JIT, 6 module loading, 7 lazy function
// loading, 8 command buffer full.
constexpr bool IsProfilerOverhead(int64_t type) { return type != 2 && type != 6 && type != 7 && type != 8; }

SyncKind SyncKindOf(int64_t type) { return type >= 1 && type <= 4 ? static_cast<SyncKind>(type) : SyncKind::kUnknown; }

absl::Status ReadSync(ReadSession& session, const Row& row) {
  SyncRecord record;
  TimeSpan span;
  if (!session.ReadSpan(row, sync::kStart, sync::kEnd, span)) return absl::OkStatus();
  if (!session.ReadDevice(row, sync::kDevice, record.device)) return absl::OkStatus();
  if (!session.ReadProcess(row, sync::kGlobalPid, record.process)) return absl::OkStatus();
  int64_t correlation = 0;
  record.has_correlation = row.Read(sync::kCorrelation, correlation);
  record.correlation = static_cast<uint64_t>(correlation);
  record.start_ns = span.start_ns;
  record.duration_ns = span.duration_ns;
  record.stream = row.Int32Or(sync::kStream, -1);  // 2^32 - 1: not applicable
  record.kind = SyncKindOf(row.IntOr(sync::kSyncType, 0));
  return session.sink().Sync(record);
}

absl::Status ReadAllocation(ReadSession& session, const Row& row) {
  const int64_t operation = row.IntOr(memory_usage::kOperation, -1);
  const bool moves_level = operation == memory_usage::kAllocation || operation == memory_usage::kDeallocation;
  if (!moves_level || row.IntOr(memory_usage::kMemoryKind, -1) != kDeviceMemory) return absl::OkStatus();
  TimeSpan at;
  if (!session.ReadSpan(row, memory_usage::kStart, memory_usage::kStart, at)) return absl::OkStatus();
  int32_t device = -1;
  uint32_t process = 0;
  const bool has_device = session.ReadDevice(row, memory_usage::kDevice, device);
  const bool has_process = session.ReadProcess(row, memory_usage::kGlobalPid, process);
  if (!has_device || !has_process) return absl::OkStatus();
  const std::optional<int64_t> bytes = row.Int(memory_usage::kBytes);
  if (!bytes.has_value() || *bytes < 0 || *bytes > kMaxBytes) {
    session.sink().Drop(DropReason::kBadNumber, row.id());
    return absl::OkStatus();
  }
  const int64_t delta = operation == memory_usage::kAllocation ? *bytes : -*bytes;
  return session.sink().Allocation({at.start_ns, delta, process, device});
}

// Start-up and tear-down of the profiler lie outside the device's window and disturb no measurement.
void AddOverhead(ReadSession& session, const Row& row, int start_field, int end_field, int64_t type) {
  if (!IsProfilerOverhead(type)) return;
  TimeSpan span;
  if (!session.ReadSpan(row, start_field, end_field, span)) return;
  const int64_t start = std::max(span.start_ns, session.facts().first_device_ns);
  const int64_t end = std::min(span.end_ns(), session.facts().last_device_ns);
  int64_t& total = session.context().overhead_ns;
  if (end > start) total = std::min(total + (end - start), kMaxAbsTimeNs);
}

}  // namespace

absl::Status ReadSynchronization(ReadSession& session) {
  return session.Scan(sync::kTable, [&](const Row& row) { return ReadSync(session, row); });
}

absl::Status ReadAllocations(ReadSession& session) {
  return session.Scan(memory_usage::kTable, [&](const Row& row) { return ReadAllocation(session, row); });
}

absl::Status ReadOverhead(ReadSession& session) {
  LOCKSTEP_RETURN_IF_ERROR(session.Scan(profiler_overhead::kTable, [&](const Row& row) {
    AddOverhead(session, row, profiler_overhead::kStart, profiler_overhead::kEnd,
                row.IntOr(profiler_overhead::kType, 0));
    return absl::OkStatus();
  }));
  return session.Scan(cupti_overhead::kTable, [&](const Row& row) {
    AddOverhead(session, row, cupti_overhead::kStart, cupti_overhead::kEnd, row.IntOr(cupti_overhead::kType, 0));
    return absl::OkStatus();
  });
}

}  // namespace lockstep::nsys
