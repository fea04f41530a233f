// Any bytes as a database: the reader refuses it, salvages part of it or reads it; it never crashes, hangs or breaks
// the promises that the readers make about times.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/readers/nsys/nsys_reader.h"
#include "analysis/base/check.h"
#include "analysis/base/time.h"
#include "tests/support/collecting_sink.h"

namespace {

void CheckSpan(int64_t start_ns, int64_t duration_ns) {
  LOCKSTEP_CHECK(duration_ns >= 0);
  LOCKSTEP_CHECK(start_ns >= -lockstep::kMaxAbsTimeNs && start_ns <= lockstep::kMaxAbsTimeNs);
}

void CheckRecords(lockstep::CollectingSink& sink) {
  const size_t processes = sink.context().processes.size();
  for (const lockstep::DeviceRecord& record : sink.devices) {
    CheckSpan(record.start_ns, record.duration_ns);
    LOCKSTEP_CHECK(record.process < processes);
    LOCKSTEP_CHECK(record.name < sink.names.size());
  }
  for (const lockstep::ApiRecord& record : sink.apis) CheckSpan(record.start_ns, record.duration_ns);
  for (const lockstep::HostRecord& record : sink.hosts) {
    CheckSpan(record.start_ns, record.duration_ns);
    LOCKSTEP_CHECK(record.kind != lockstep::HostKind::kCollective || record.meta < sink.metas.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  absl::StatusOr<lockstep::Database> db = lockstep::Database::OpenBytes(bytes);
  if (!db.ok()) return 0;
  lockstep::CollectingSink sink;
  const auto read = lockstep::nsys::ReadNsysDatabase(*db, static_cast<int64_t>(size), {}, sink);
  if (!read.ok()) LOCKSTEP_CHECK(!read.status().message().empty());
  CheckRecords(sink);
  return 0;
}
