// The checks behind the quality gates, one function a gate. See quality.h.
#pragma once

#include <vector>

#include "analysis/metrics/summary/quality.h"

namespace lockstep {

[[nodiscard]] std::vector<Gate> CheckGates(const Fleet& fleet, const FleetMeasures& measures,
                                           const std::vector<FileNote>& files,
                                           const std::optional<WaitingKernel>& waiting_kernel);

}  // namespace lockstep
