// The devices: TARGET_INFO_GPU, and TARGET_INFO_CUDA_DEVICE, which says what the ordinals of a process are.
#pragma once

#include <absl/status/status.h>

#include "agent/readers/nsys/read_session.h"

namespace lockstep::nsys {

// Call after the device tables: devices that ran something get at least the model name where all GPUs are alike.
absl::Status ReadDevices(ReadSession& session);

}  // namespace lockstep::nsys
