// What the text of an NVTX range says. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/model/collective.h"

namespace lockstep::nsys {

// PyTorch's emit_nvtx numbers every call in its text ("aten::copy_, op_id = 991065"): the part before the number, so
// that the calls of one operator have one name.
[[nodiscard]] std::string_view WithoutCallNumbers(std::string_view text);

// N of "ProfilerStep#N".
[[nodiscard]] std::optional<int64_t> ProfilerStepNumber(std::string_view text);

// NCCL's own function names; inside its domain also without the "nccl" prefix.
[[nodiscard]] CollectiveOp NcclOpOf(std::string_view text, bool in_nccl_domain);

// The call creates a communicator.
[[nodiscard]] bool IsCommunicatorInit(std::string_view text);

}  // namespace lockstep::nsys
