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

absl::Status ReadSession::Scan(const Table& table, const ScanOptions& scan,
                               const std::function<absl::Status(const Row&)>& visit) {
  const auto counted = [&](const Row& row) {
    LOCKSTEP_RETURN_IF_ERROR(CountRow());
    return visit(row);
  };
  LOCKSTEP_ASSIGN_OR_RETURN(const auto damage, ScanTable(db_, catalog_, table, scan, counted));
  if (damage.has_value()) NoteDamage(table.name, *damage);
  return absl::OkStatus();
}

absl::Status ReadSession::Sample(const Table& table, int64_t rows,
                                 const std::function<absl::Status(const Row&)>& visit) {
  return ScanTable(db_, catalog_, table, {.limit = rows}, visit).status();
}

std::optional<TimeSpan> ReadSession::SpanOf(int64_t row_id, std::optional<int64_t> start, std::optional<int64_t> end) {
  std::optional<DropReason> trouble;
  if (!start.has_value() || !end.has_value()) {
    trouble = DropReason::kBadNumber;
  } else if (!IsSaneTime(*start) || !IsSaneTime(*end)) {
    trouble = DropReason::kAbsurdDuration;
  } else if (*end < *start) {
    trouble = DropReason::kNegativeDuration;
  } else if (*end - *start > kMaxHostDurationNs) {
    trouble = DropReason::kAbsurdDuration;
  }
  if (trouble.has_value()) {
    sink_.Drop(*trouble, row_id);
    return std::nullopt;
  }
  facts_.last_ns = std::max(facts_.last_ns, *end);
  return TimeSpan{*start, *end - *start};
}

std::optional<TimeSpan> ReadSession::DeviceSpanOf(const Row& row, int start_field, int end_field) {
  const std::optional<TimeSpan> span = SpanOf(row, start_field, end_field);
  if (!span.has_value()) return span;
  const bool no_timing = span->start_ns == 0 && span->duration_ns == 0;
  if (!no_timing && span->duration_ns <= kMaxDeviceDurationNs) return span;
  sink_.Drop(no_timing ? DropReason::kZeroTime : DropReason::kAbsurdDuration, row.id());
  return std::nullopt;
}

std::optional<uint32_t> ReadSession::ProcessOf(const Row& row, int global_id_field) {
  const std::optional<int64_t> global_id = one_process_ ? std::nullopt : row.Int(global_id_field);
  const int64_t pid = global_id.has_value() ? PidOf(*global_id) : -1;
  if (latest_process_ != nullptr && latest_process_->first == pid) return latest_process_->second;
  if (const auto known = processes_.find(pid); known != processes_.end()) {
    latest_process_ = &*known;
    return known->second;
  }
  if (processes_.size() >= kMaxProcesses) {
    sink_.Drop(DropReason::kKeyLimit, row.id());
    return std::nullopt;
  }
  return processes_.emplace(pid, sink_.AddProcess(pid)).first->second;
}

std::optional<int32_t> ReadSession::DeviceOf(const Row& row, int device_field) {
  const std::optional<int64_t> device = row.Int(device_field);
  if (device.has_value() && *device >= 0 && *device < kMaxOrdinal) return static_cast<int32_t>(*device);
  sink_.Drop(DropReason::kBadNumber, row.id());
  return std::nullopt;
}

NameId ReadSession::NameOf(const Row& row, int field) {
  const std::optional<int64_t> id = row.Int(field);
  return id.has_value() ? strings_.Name(*id, row.id()) : kNoId;
}

void ReadSession::NoteDeviceActivity(const DeviceRecord& record) {
  ++facts_.device_rows;
  facts_.first_device_ns = std::min(facts_.first_device_ns, record.start_ns);
  facts_.last_device_ns = std::max(facts_.last_device_ns, record.start_ns + record.duration_ns);
  if (facts_.devices.size() < kMaxDevices) {
    facts_.devices.emplace(context().processes[record.process].pid, record.device);
  }
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

void ReadSession::AddDiagnostic(std::string_view text) {
  std::vector<std::string>& lines = context().diagnostics;
  std::string line = RepairUtf8(Utf8Prefix(text, kMaxDiagnosticBytes));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (lines.size() >= kMaxDiagnostics || std::ranges::find(lines, line) != lines.end()) return;
  lines.push_back(std::move(line));
}

}  // namespace lockstep::nsys
