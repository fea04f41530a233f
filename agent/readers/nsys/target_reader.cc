#include "agent/readers/nsys/target_reader.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "agent/readers/nsys/environment.h"
#include "analysis/base/status_macros.h"

namespace lockstep::nsys {
namespace {

constexpr size_t kMaxRows = 4096;

std::string WithPrefix(std::string_view uuid) {
  if (uuid.empty() || uuid.starts_with("GPU-")) return std::string(uuid);
  return "GPU-" + std::string(uuid);
}

// By id, ordinal and pid still open.
absl::Status ReadGpus(ReadSession& session, std::map<int64_t, DeviceInfo>& gpus) {
  return session.Scan(gpu::kTable, [&](const Row& row) {
    const std::optional<int64_t> id = row.Int(gpu::kId);
    if (!id.has_value() || gpus.size() >= kMaxRows) return absl::OkStatus();
    DeviceInfo info;
    info.name = row.Text(gpu::kName);
    info.uuid = WithPrefix(row.Text(gpu::kUuid));
    info.pci_bus = row.Text(gpu::kBus);
    info.sm_count = row.Int32Or(gpu::kSmCount, -1);
    info.memory_bandwidth_bytes_per_s = row.IntOr(gpu::kBandwidth, -1);
    gpus.emplace(*id, std::move(info));
    return absl::OkStatus();
  });
}

DeviceInfo CudaDeviceOf(const Row& row, const std::map<int64_t, DeviceInfo>& gpus) {
  DeviceInfo info;
  const auto found = gpus.find(row.IntOr(cuda_device::kGpu, -1));
  if (found != gpus.end()) info = found->second;
  if (info.uuid.empty()) info.uuid = WithPrefix(row.Text(cuda_device::kUuid));
  if (info.sm_count < 0) info.sm_count = row.Int32Or(cuda_device::kSmCount, -1);
  return info;
}

absl::Status ReadCudaDevices(ReadSession& session, const std::map<int64_t, DeviceInfo>& gpus) {
  return session.Scan(cuda_device::kTable, [&](const Row& row) {
    const std::optional<int64_t> pid = row.Int(cuda_device::kPid);
    int32_t ordinal = -1;
    const bool has_ordinal = session.ReadDevice(row, cuda_device::kCuda, ordinal);
    std::vector<DeviceInfo>& devices = session.context().devices;
    if (!pid.has_value() || !has_ordinal || devices.size() >= kMaxRows) return absl::OkStatus();
    DeviceInfo info = CudaDeviceOf(row, gpus);
    info.pid = *pid;
    info.ordinal = ordinal;
    devices.push_back(std::move(info));
    return absl::OkStatus();
  });
}

bool IsListed(const FileContext& context, int64_t pid, int32_t ordinal) {
  return std::ranges::any_of(context.devices, [&](const DeviceInfo& info) {
    return info.ordinal == ordinal && (info.pid == pid || info.pid == -1);
  });
}

bool AreAlike(const std::map<int64_t, DeviceInfo>& gpus) {
  const DeviceInfo& first = gpus.begin()->second;
  return std::ranges::all_of(gpus, [&](const auto& entry) {
    return entry.second.name == first.name && entry.second.sm_count == first.sm_count &&
           entry.second.memory_bandwidth_bytes_per_s == first.memory_bandwidth_bytes_per_s;
  });
}

// For devices that the process-wise table leaves out.
void AddByOrder(ReadSession& session, const std::map<int64_t, DeviceInfo>& gpus) {
  const bool natural = HasNaturalDeviceOrder(session.facts());
  const bool alike = AreAlike(gpus);
  FileContext& context = session.context();
  for (const auto& [pid, ordinal] : session.facts().devices) {
    if (IsListed(context, pid, ordinal) || context.devices.size() >= kMaxRows) continue;
    const auto same_id = gpus.find(ordinal);
    DeviceInfo info;
    if (natural && same_id != gpus.end()) {
      info = same_id->second;
    } else if (alike) {
      info = gpus.begin()->second;
      info.uuid.clear();
      info.pci_bus.clear();
    } else {
      continue;
    }
    info.pid = pid;
    info.ordinal = ordinal;
    context.devices.push_back(std::move(info));
  }
}

}  // namespace

absl::Status ReadDevices(ReadSession& session) {
  std::map<int64_t, DeviceInfo> gpus;
  LOCKSTEP_RETURN_IF_ERROR(ReadGpus(session, gpus));
  LOCKSTEP_RETURN_IF_ERROR(ReadCudaDevices(session, gpus));
  if (!gpus.empty()) AddByOrder(session, gpus);
  return absl::OkStatus();
}

}  // namespace lockstep::nsys
