// Which devices of a process are ranks: the main one, further ones with a real share of its work, or strays.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/model/run_data.h"

namespace lockstep {

enum class DeviceRole : uint8_t { kMain = 0, kSecond = 1, kStray = 2 };

struct DevicePlace {
  DeviceRole role = DeviceRole::kMain;
  size_t main_source = 0;              // the source of the process's main device
  int64_t process_kernel_time_ns = 0;  // all devices together
};

// One entry per source of the run. Sources of one (host, path, session, pid) are the devices of one process.
[[nodiscard]] std::vector<DevicePlace> PlaceDevices(const RunData& run);

}  // namespace lockstep
