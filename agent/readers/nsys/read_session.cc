#include "agent/readers/nsys/read_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "analysis/base/utf8.h"

namespace lockstep::nsys {
namespace {

constexpr int64_t kRowsBetweenProgress = int64_t{1} << 16;
constexpr size_t kMaxProcesses = 4096;
constexpr size_t kMaxDevices = 65536;
constexpr int32_t kMaxOrdinal = 4096;
constexpr size_t kMaxDiagnostics = 24;
constexpr size_t kMaxDiagnosticBytes = 200;
constexpr uint64_t kIdMask = 0xFFFFFF;

// Device tables without globalPid come from hand-made files of one process; there the threads' ids say nothing either.
bool LacksProcesses(const TableCatalog& catalog) {
  const auto lacks = [&](const Table& table, int field) { return catalog.Has(table) && !catalog.Has(table, field); };
  return lacks(kernel::kTable, kernel::kGlobalPid) || lacks(memcpy_op::kTable, memcpy_op::kGlobalPid) ||
         lacks(memset_op::kTable, memset_op::kGlobalPid) || lacks(graph_trace::kTable, graph_trace::kGlobalPid);
}

// Longer than anything that runs on a device, and than any capture.
constexpr int64_t kMaxDeviceDurationNs = kNsPerHour;
constexpr int64_t kMaxHostDurationNs = 24 * kNsPerHour;

bool IsSaneTime(int64_t time_ns) { return time_ns >= -kMaxAbsTimeNs && time_ns <= kMaxAbsTimeNs; }

}  // namespace

int64_t PidOf(int64_t global_id) { return static_cast<int64_t>((static_cast<uint64_t>(global_id) >> 24) & kIdMask); }
int64_t TidOf(int64_t global_id) { return static_cast<int64_t>(static_cast<uint64_t>(global_id) & kIdMask); }

ReadSession::ReadSession(Database& db, TableCatalog catalog, StringTable strings, const ReadOptions& options,
                         RecordSink& sink)
    : db_(db),
      catalog_(std::move(catalog)),
      strings_(std::move(strings)),
      options_(options),
      sink_(sink),
      one_process_(LacksProcesses(catalog_)) {}

absl::Status ReadSession::CountRow() {
  ++rows_;
  const bool ask = options_.progress && rows_ % kRowsBetweenProgress == 0;
  if (!ask || options_.progress(rows_, -1)) return absl::OkStatus();
  return absl::CancelledError(fmt::format("{}: reading was cancelled after {} rows", db_.path(), rows_));
}

absl::Status ReadSession::Scan(const Table& table, const ScanOptions& scan, RowVisitor visit) {
  const auto counted = [&](const Row& row) {
    LOCKSTEP_RETURN_IF_ERROR(CountRow());
    return visit(row);
  };
  LOCKSTEP_ASSIGN_OR_RETURN(const auto damage, ScanTable(db_, catalog_, table, scan, counted));
  if (damage.has_value()) NoteDamage(table.name, *damage);
  return absl::OkStatus();
}

absl::Status ReadSession::Sample(const Table& table, int64_t rows, RowVisitor visit) {
  return ScanTable(db_, catalog_, table, {.limit = rows}, visit).status();
}

bool ReadSession::ReadSpan(const Row& row, int start_field, int end_field, TimeSpan& span) {
  int64_t start = 0;
  int64_t end = 0;
  if (row.Read(start_field, start) && row.Read(end_field, end)) return MakeSpan(row.id(), start, end, span);
  sink_.Drop(DropReason::kBadNumber, row.id());
  return false;
}

bool ReadSession::MakeSpan(int64_t row_id, int64_t start_ns, int64_t end_ns, TimeSpan& span) {
  std::optional<DropReason> trouble;
  if (!IsSaneTime(start_ns) || !IsSaneTime(end_ns)) {
    trouble = DropReason::kAbsurdDuration;
  } else if (end_ns < start_ns) {
    trouble = DropReason::kNegativeDuration;
  } else if (end_ns - start_ns > kMaxHostDurationNs) {
    trouble = DropReason::kAbsurdDuration;
  }
  if (trouble.has_value()) {
    sink_.Drop(*trouble, row_id);
    return false;
  }
  facts_.last_ns = std::max(facts_.last_ns, end_ns);
  span = {start_ns, end_ns - start_ns};
  return true;
}

bool ReadSession::ReadDeviceSpan(const Row& row, int start_field, int end_field, TimeSpan& span) {
  if (!ReadSpan(row, start_field, end_field, span)) return false;
  const bool no_timing = span.start_ns == 0 && span.duration_ns == 0;
  if (!no_timing && span.duration_ns <= kMaxDeviceDurationNs) return true;
  sink_.Drop(no_timing ? DropReason::kZeroTime : DropReason::kAbsurdDuration, row.id());
  return false;
}

bool ReadSession::ReadProcess(const Row& row, int global_id_field, uint32_t& process) {
  int64_t global_id = 0;
  const bool is_told = !one_process_ && row.Read(global_id_field, global_id);
  const int64_t pid = is_told ? PidOf(global_id) : -1;
  if (const uint32_t* recent = recent_processes_.Find(pid)) {
    process = *recent;
    return true;
  }
  auto known = processes_.find(pid);
  if (known == processes_.end()) {
    if (processes_.size() >= kMaxProcesses) {
      sink_.Drop(DropReason::kKeyLimit, row.id());
      return false;
    }
    known = processes_.emplace(pid, sink_.AddProcess(pid)).first;
  }
  recent_processes_.Put(pid, known->second);
  process = known->second;
  return true;
}

bool ReadSession::ReadDevice(const Row& row, int device_field, int32_t& device) {
  int64_t ordinal = -1;
  if (row.Read(device_field, ordinal) && ordinal >= 0 && ordinal < kMaxOrdinal) {
    device = static_cast<int32_t>(ordinal);
    return true;
  }
  sink_.Drop(DropReason::kBadNumber, row.id());
  return false;
}

NameId ReadSession::NameOf(const Row& row, int field) {
  int64_t id = 0;
  return row.Read(field, id) ? strings_.Name(id, row.id()) : kNoId;
}

void ReadSession::NoteDeviceActivity(const DeviceRecord& record) {
  ++facts_.device_rows;
  facts_.first_device_ns = std::min(facts_.first_device_ns, record.start_ns);
  facts_.last_device_ns = std::max(facts_.last_device_ns, record.start_ns + record.duration_ns);
  const std::pair device(context().processes[record.process].pid, record.device);
  if (!facts_.devices.contains(device) && facts_.devices.size() < kMaxDevices) facts_.devices.insert(device);
}

void ReadSession::NoteDamage(std::string_view table, const ScanDamage& damage) {
  sink_.Drop(DropReason::kTruncatedTail, damage.after_row);
  result_.outcome = ReadOutcome::kPartial;
  if (result_.damage_offset < 0) result_.damage_offset = std::max<int64_t>(damage.after_row, 0);
  const std::string line =
      damage.after_row < 0 ? fmt::format("table {} could not be read: {}", table, damage.what)
                           : fmt::format("table {} was read up to row {}: {}", table, damage.after_row, damage.what);
  result_.reason += result_.reason.empty() ? line : "; " + line;
}

void ReadSession::AddUnknownTable(std::string_view table) {
  result_.outcome = ReadOutcome::kPartial;
  result_.reason += fmt::format(
      "{}table {} was not read: it is of a version that this release does not know, or an older one is also present",
      result_.reason.empty() ? "" : "; ", table);
}

void ReadSession::AddDiagnostic(std::string_view text) {
  std::vector<std::string>& lines = context().diagnostics;
  std::string line = RepairUtf8(Utf8Prefix(text, kMaxDiagnosticBytes));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (lines.size() >= kMaxDiagnostics || std::ranges::find(lines, line) != lines.end()) return;
  lines.push_back(std::move(line));
}

}  // namespace lockstep::nsys
