// Any bytes through detection's sniff and the Kineto reader: no crash, no hang, and times within the contract.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/readers/kineto/kineto_format.h"
#include "analysis/base/check.h"
#include "analysis/base/time.h"
#include "tests/support/collecting_sink.h"

namespace lockstep {
namespace {

void CheckTimes(int64_t start_ns, int64_t duration_ns) {
  LOCKSTEP_CHECK(start_ns >= 0 && duration_ns >= 0 && start_ns + duration_ns <= kMaxAbsTimeNs);
}

void CheckRecords(const CollectingSink& sink) {
  for (const DeviceRecord& r : sink.devices) CheckTimes(r.start_ns, r.duration_ns);
  for (const ApiRecord& r : sink.apis) CheckTimes(r.start_ns, r.duration_ns);
  for (const HostRecord& r : sink.hosts) CheckTimes(r.start_ns, r.duration_ns);
  for (const SyncRecord& r : sink.syncs) CheckTimes(r.start_ns, r.duration_ns);
}

// The first byte chooses the window, so that every cut is met.
void ReadOnce(std::string_view bytes) {
  if (bytes.empty()) return;
  ReadOptions options;
  options.window_bytes = 256 + static_cast<unsigned char>(bytes[0]) * 4;
  bytes.remove_prefix(1);
  KinetoFormat().sniff(bytes, false);
  CollectingSink sink;
  const auto source = MemoryByteSource(bytes, 97);
  const auto result = ReadKineto(*source, "fuzz", options, sink);
  LOCKSTEP_CHECK(result.ok() || result.status().code() == absl::StatusCode::kInvalidArgument);
  CheckRecords(sink);
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::ReadOnce(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
