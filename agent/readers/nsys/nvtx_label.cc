#include "agent/readers/nsys/nvtx_label.h"

#include <algorithm>
#include <string>

#include "agent/readers/nsys/exact_number.h"

namespace lockstep::nsys {

std::string_view WithoutCallNumbers(std::string_view text) {
  const size_t cut = std::min(text.find(", op_id = "), text.find(", seq = "));
  return cut == 0 ? text : text.substr(0, cut);
}

std::optional<int64_t> ProfilerStepNumber(std::string_view text) {
  constexpr std::string_view kPrefix = "ProfilerStep#";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  const std::optional<int64_t> number = ParseInt64(text.substr(kPrefix.size()));
  return number.has_value() && *number >= 0 ? number : std::nullopt;
}

CollectiveOp NcclOpOf(std::string_view text, bool in_nccl_domain) {
  if (text.starts_with("nccl")) return CollectiveOpFromNcclApi(text);
  return in_nccl_domain ? CollectiveOpFromNcclApi("nccl" + std::string(text)) : CollectiveOp::kUnknown;
}

bool IsCommunicatorInit(std::string_view text) {
  return text.starts_with("ncclCommInit") || text == "ncclCommSplit" || text == "ncclCommShrink" ||
         text == "ncclCommGrow";
}

}  // namespace lockstep::nsys
