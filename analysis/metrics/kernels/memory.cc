#include "analysis/metrics/kernels/memory.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep {
namespace {

void AddPlaces(MemoryGroup& group, const MemoryRow& row) {
  auto places = std::find_if(group.places.begin(), group.places.end(), [&](const MemoryPlaces& known) {
    return known.source == row.source && known.target == row.target;
  });
  if (places == group.places.end()) {
    places = group.places.insert(group.places.end(), {row.source, row.target, 0, 0, 0});
  }
  places->operations += row.duration.count();
  places->bytes += row.bytes.sum();
  places->total_ns += row.duration.sum();
}

void AddRow(MemoryGroup& group, const MemoryRow& row) {
  group.operations += row.duration.count();
  group.total_ns += row.duration.sum();
  group.blocking += row.blocking;
  group.duration.Merge(row.duration);
  group.bytes.Merge(row.bytes);
  group.bandwidth_bytes_per_s.Merge(row.bandwidth_bytes_per_s);
  AddPlaces(group, row);
}

}  // namespace

std::string_view Name(CopyKind kind) {
  switch (kind) {
    case CopyKind::kUnknown:
      break;
    case CopyKind::kHostToDevice:
      return "host_to_device";
    case CopyKind::kDeviceToHost:
      return "device_to_host";
    case CopyKind::kHostToArray:
      return "host_to_array";
    case CopyKind::kArrayToHost:
      return "array_to_host";
    case CopyKind::kArrayToArray:
      return "array_to_array";
    case CopyKind::kArrayToDevice:
      return "array_to_device";
    case CopyKind::kDeviceToArray:
      return "device_to_array";
    case CopyKind::kDeviceToDevice:
      return "device_to_device";
    case CopyKind::kHostToHost:
      return "host_to_host";
    case CopyKind::kPeerToPeer:
      return "peer_to_peer";
    case CopyKind::kUnifiedHostToDevice:
      return "unified_host_to_device";
    case CopyKind::kUnifiedDeviceToHost:
      return "unified_device_to_host";
    case CopyKind::kUnifiedDeviceToDevice:
      return "unified_device_to_device";
  }
  return "unknown";
}

std::string_view Name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kUnknown:
      break;
    case MemoryKind::kPageable:
      return "pageable";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kDevice:
      return "device";
    case MemoryKind::kArray:
      return "array";
    case MemoryKind::kManaged:
      return "managed";
  }
  return "unknown";
}

std::vector<MemoryGroup> ComputeMemory(const Fleet& fleet) {
  std::map<std::string, MemoryGroup> kinds;
  for (const FleetRank& member : fleet.members) {
    for (const MemoryRow& row : member.source->memory) {
      if (row.duration.empty()) continue;
      AddRow(kinds[row.is_memset ? "memset" : std::string(Name(row.kind))], row);
    }
  }
  std::vector<MemoryGroup> groups;
  for (auto& [kind, group] : kinds) {
    group.kind = kind;
    std::sort(group.places.begin(), group.places.end(), [](const MemoryPlaces& a, const MemoryPlaces& b) {
      return std::tuple(-a.total_ns, a.source, a.target) < std::tuple(-b.total_ns, b.source, b.target);
    });
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const MemoryGroup& a, const MemoryGroup& b) { return a.total_ns > b.total_ns; });
  return groups;
}

}  // namespace lockstep
