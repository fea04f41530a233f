// Kernels of both sides, matched (kernels/kernel_matches.h), with the change of their time a step. Pure, thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <optional>
#include <vector>

#include "analysis/compare/kernels/kernel_map.h"
#include "analysis/compare/sides.h"

namespace lockstep::compare {

struct KernelChanges {
  std::vector<report::KernelChange> kernels;  // by size of the change of the time a step
  std::optional<double> matched_time_ratio;   // on the side where it is smaller; none without kernels
};

// kInvalidArgument: a pattern of the map is too complex for a name.
[[nodiscard]] absl::StatusOr<KernelChanges> KernelChangesOf(const Sides& sides, const KernelMap& map);

}  // namespace lockstep::compare
