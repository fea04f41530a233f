// Compares two sides of one or more runs each. Pure, thread safe; the same input gives the same document.
#pragma once

#include <absl/status/statusor.h>

#include <vector>

#include "analysis/compare/gates.h"
#include "analysis/compare/kernels/kernel_map.h"
#include "analysis/compare/rank_pairing.h"
#include "analysis/compare/sides.h"

namespace lockstep::compare {

struct CompareRequest {
  PairBy pair_by = PairBy::kAuto;
  KernelMap kernel_map;
  std::vector<Gate> gates;
};

// Both sides have at least one run. kInvalidArgument: a pattern is too complex for a name.
[[nodiscard]] absl::StatusOr<report::ComparisonDocument> Compare(Sides sides, const CompareRequest& request);

}  // namespace lockstep::compare
