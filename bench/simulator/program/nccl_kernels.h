// The kernels that libraries launch for a collective, by their names through the versions. Pure.
#pragma once

#include <cstdint>

#include "bench/simulator/program/step_program.h"

namespace lockstep {

// `old_names`: before NCCL 2.19.
[[nodiscard]] KernelShape CollectiveKernel(CollectiveOp op, DataType dtype, int64_t bytes, Transport transport,
                                           bool old_names, int32_t members);

}  // namespace lockstep
