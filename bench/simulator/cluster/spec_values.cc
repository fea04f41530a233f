#include "bench/simulator/cluster/spec_values.h"

#include <fmt/format.h>

namespace lockstep {

absl::StatusOr<double> RealOr(std::string_view flag, const Spec& spec, const std::string& key, const RealRange& range) {
  const auto found = spec.values.find(key);
  if (found == spec.values.end()) return range.otherwise;
  const auto value = ParseReal(found->second);
  if (!value.ok() || *value < range.low || *value > range.high) {
    return absl::InvalidArgumentError(fmt::format("{} {}: {}={} must be a number from {} to {}", flag, spec.kind, key,
                                                  found->second, range.low, range.high));
  }
  return *value;
}

absl::StatusOr<std::optional<int32_t>> IndexOf(std::string_view flag, const Spec& spec, const std::string& key,
                                               int32_t count) {
  const auto found = spec.values.find(key);
  if (found == spec.values.end()) return std::optional<int32_t>();
  const auto value = ParseInteger(found->second);
  if (!value.ok() || *value < 0 || *value >= count) {
    return absl::InvalidArgumentError(
        fmt::format("{} {}: {}={} must be an integer from 0 to {}", flag, spec.kind, key, found->second, count - 1));
  }
  return std::optional<int32_t>(static_cast<int32_t>(*value));
}

}  // namespace lockstep
