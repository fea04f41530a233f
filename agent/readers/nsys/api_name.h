// What a CUDA API function is, told from its name. Pure.
#pragma once

#include <string_view>

#include "analysis/model/trace_record.h"

namespace lockstep::nsys {

// Without the version suffix and the per-thread-default-stream suffix of CUPTI: "cudaGraphLaunch_ptsz_v10000" ->
// "cudaGraphLaunch"; API generations stay: "cudaStreamGetCaptureInfo_v2_v11030" -> "cudaStreamGetCaptureInfo_v2".
[[nodiscard]] std::string_view DisplayName(std::string_view name);

// The name that nsys itself prints: it takes away version suffixes of four digits only, "cudaLaunchKernel_v7000" ->
// "cudaLaunchKernel", and leaves "cudaLaunchKernelExC_v11060" as it is.
[[nodiscard]] std::string_view NsysName(std::string_view name);

// Of a display name.
[[nodiscard]] ApiKind KindOfApi(std::string_view name);

// Driver functions begin with "cu" but not with "cuda".
[[nodiscard]] bool IsDriverName(std::string_view name);

}  // namespace lockstep::nsys
