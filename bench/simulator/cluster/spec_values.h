// Values of a Spec ("KIND:k=v,...") with their ranges. Errors are kInvalidArgument and name flag, kind, key and range.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bench/simulator/command/simulator_options.h"

namespace lockstep {

struct RealRange {
  double otherwise = 0;  // without the key
  double low = 0;
  double high = 0;
};
[[nodiscard]] absl::StatusOr<double> RealOr(std::string_view flag, const Spec& spec, const std::string& key,
                                            const RealRange& range);

// The index that the key names (below `count`), or nothing without that key.
[[nodiscard]] absl::StatusOr<std::optional<int32_t>> IndexOf(std::string_view flag, const Spec& spec,
                                                             const std::string& key, int32_t count);

}  // namespace lockstep
