// CSV in the columns, units and order of nsys's own statistics, for tools that read those.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

#include "analysis/report/report.h"

namespace lockstep {

// kernels (cuda_gpu_kern_sum), memory (cuda_gpu_mem_time_sum), host (cuda_api_sum), nvtx (nvtx_sum), launches
// (cuda_kern_exec_sum; process, thread, device and medians stay empty where the report does not hold them). `rows` is
// the view. kInvalidArgument: another view.
[[nodiscard]] absl::StatusOr<std::string> NsysCsv(std::string_view view, const Json& rows);

// The other table of nsys about the view memory: cuda_gpu_mem_size_sum. kInvalidArgument: another view.
[[nodiscard]] absl::StatusOr<std::string> NsysSizeCsv(std::string_view view, const Json& rows);

}  // namespace lockstep
