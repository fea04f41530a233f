// Steps of every rank: where the time of each device window went. Per step the identity
// compute + exposed_comm + copy_only + opaque_only + idle = span is exact, and so is the split of exposed_comm.
// Units: ns. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/fleet/fleet_measures.h"

namespace lockstep {

enum class StepVerdict : uint8_t { kNone = 0, kGpu = 1, kHost = 2, kCommunication = 3 };
[[nodiscard]] std::string_view Name(StepVerdict verdict);  // "", "gpu", "host", "communication"

struct StepOfRank {
  size_t member = 0;  // into Fleet::members
  const StepRow* row = nullptr;
  Exposure exposure;
  StepVerdict verdict = StepVerdict::kNone;
  std::string why;  // of a slow step: see slow_steps.h; "" = within the noise
};

// Selected steps, by rank and then in the order of the source. Activities before the first step are no step.
[[nodiscard]] std::vector<StepOfRank> ComputeSteps(const Fleet& fleet, const FleetMeasures& measures);

// What bounds an interval: the largest of device work, host-side idle and exposed communication, if above a third.
[[nodiscard]] StepVerdict VerdictOf(const IntervalMeasure& measure);

}  // namespace lockstep
