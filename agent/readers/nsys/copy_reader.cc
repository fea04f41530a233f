#include <array>

#include "agent/readers/nsys/device_reader.h"
#include "analysis/base/status_macros.h"

namespace lockstep::nsys {
namespace {

constexpr DeviceColumns kCopyColumns = {memcpy_op::kStart,    memcpy_op::kEnd,         memcpy_op::kDevice,
                                        memcpy_op::kStream,   memcpy_op::kCorrelation, memcpy_op::kGlobalPid,
                                        memcpy_op::kGraphNode};
constexpr DeviceColumns kMemsetColumns = {memset_op::kStart,    memset_op::kEnd,         memset_op::kDevice,
                                          memset_op::kStream,   memset_op::kCorrelation, memset_op::kGlobalPid,
                                          memset_op::kGraphNode};

// Operation names as nsys prints them, by copy kind.
constexpr std::array<std::string_view, 14> kCopyNames = {
    "[CUDA memcpy Unknown]",
    "[CUDA memcpy Host-to-Device]",
    "[CUDA memcpy Device-to-Host]",
    "[CUDA memcpy Host-to-Array]",
    "[CUDA memcpy Array-to-Host]",
    "[CUDA memcpy Array-to-Array]",
    "[CUDA memcpy Array-to-Device]",
    "[CUDA memcpy Device-to-Array]",
    "[CUDA memcpy Device-to-Device]",
    "[CUDA memcpy Host-to-Host]",
    "[CUDA memcpy Peer-to-Peer]",
    "[CUDA memcpy Unified Host-to-Device]",
    "[CUDA memcpy Unified Device-to-Host]",
    "[CUDA memcpy Unified Device-to-Device]",
};

MemoryKind MemoryKindOf(std::optional<int64_t> code) {
  constexpr std::array kKinds = {MemoryKind::kPageable, MemoryKind::kPinned,  MemoryKind::kDevice,
                                 MemoryKind::kArray,    MemoryKind::kManaged, MemoryKind::kDevice,  // device static
                                 MemoryKind::kManaged};                                             // managed static
  const bool known = code.has_value() && *code >= 0 && *code < static_cast<int64_t>(kKinds.size());
  return known ? kKinds[static_cast<size_t>(*code)] : MemoryKind::kUnknown;
}

int64_t BytesOf(const Row& row, int field) {
  const std::optional<int64_t> bytes = row.Int(field);
  return bytes.has_value() && *bytes >= 0 && *bytes <= kMaxBytes ? *bytes : kUnknownBytes;
}

class CopyTables {
 public:
  CopyTables(ReadSession& session, GraphLaunches& graphs) : session_(session), graphs_(graphs) {}

  absl::Status Copy(const Row& row) {
    DeviceRecord record;
    if (!ReadDeviceRecord(session_, row, kCopyColumns, DeviceKind::kMemcpy, record)) return absl::OkStatus();
    const int64_t kind = row.IntOr(memcpy_op::kCopyKind, 0);
    const bool known = kind >= 0 && kind < static_cast<int64_t>(kCopyNames.size());
    record.copy_kind = known ? static_cast<CopyKind>(kind) : CopyKind::kUnknown;
    record.source_memory = MemoryKindOf(row.Int(memcpy_op::kSourceKind));
    record.target_memory = MemoryKindOf(row.Int(memcpy_op::kTargetKind));
    record.bytes = BytesOf(row, memcpy_op::kBytes);
    return Emit(record, kCopyNames[static_cast<size_t>(record.copy_kind)]);
  }

  absl::Status Memset(const Row& row) {
    DeviceRecord record;
    if (!ReadDeviceRecord(session_, row, kMemsetColumns, DeviceKind::kMemset, record)) return absl::OkStatus();
    record.target_memory = MemoryKindOf(row.Int(memset_op::kMemoryKind));
    record.bytes = BytesOf(row, memset_op::kBytes);
    return Emit(record, "[CUDA memset]");
  }

 private:
  absl::Status Emit(DeviceRecord& record, std::string_view name) {
    record.name = session_.sink().InternName(name);
    if (record.has_correlation) graphs_.SawNode(record.process, record.correlation);
    session_.NoteDeviceActivity(record);
    return session_.sink().Device(record);
  }

  ReadSession& session_;
  GraphLaunches& graphs_;
};

}  // namespace

absl::Status ReadCopies(ReadSession& session, GraphLaunches& graphs) {
  CopyTables tables(session, graphs);
  LOCKSTEP_RETURN_IF_ERROR(session.Scan(memcpy_op::kTable, [&](const Row& row) { return tables.Copy(row); }));
  return session.Scan(memset_op::kTable, [&](const Row& row) { return tables.Memset(row); });
}

}  // namespace lockstep::nsys
