// Which devices of a process are ranks: the main one, further ones that take part in its collectives, or strays.
//
// A rank that is late waits for nobody and so has little kernel time: what counts is its part of the collectives (a
// twentieth of the most that a device of the process has). Only where no device has any, its part of the kernel time
// counts. A device that the rank map names is a rank in any case; and every device is one if that makes the number of
// ranks that the person expects.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/model/run_data.h"

namespace lockstep {

enum class DeviceRole : uint8_t { kMain = 0, kSecond = 1, kStray = 2 };

struct DevicePlace {
  DeviceRole role = DeviceRole::kMain;
  size_t main_source = 0;              // the source of the process's main device
  int64_t process_kernel_time_ns = 0;  // all devices together
  int64_t process_collectives = 0;     // likewise
};

// One entry per source of the run. Sources of one (host, path, session, pid) are the devices of one process.
[[nodiscard]] std::vector<DevicePlace> PlaceDevices(const RunData& run, const AnalysisOptions& options);

}  // namespace lockstep
