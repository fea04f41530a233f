// Steps of every rank: where the time of each device window went. Per step the identity
// compute + exposed_comm + copy_only + opaque_only + idle = span is exact, and so is the split of exposed_comm.
// Units: ns. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

// Of what is asked for on a rank's own clock (Fleet::TimeWindowOf); none where all is.
using TimeOfRank = std::optional<std::pair<int64_t, int64_t>>;
// Whether a row of a source is a step that is asked for. Activities before the first step are none.
[[nodiscard]] bool IsSelectedStep(const Fleet& fleet, const StepRow& row, const TimeOfRank& window);

// Selected steps, by rank and then in the order of the source. Activities before the first step are no step.
[[nodiscard]] std::vector<StepOfRank> ComputeSteps(const Fleet& fleet, const FleetMeasures& measures);

// What bounds an interval: the largest of device work, host-side idle and exposed communication, if above a third.
[[nodiscard]] StepVerdict VerdictOf(const IntervalMeasure& measure);

}  // namespace lockstep
