#include "analysis/metrics/fleet/steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/metrics/fleet/slow_steps.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

struct Parts {
  int64_t gpu = 0;
  int64_t host = 0;
  int64_t communication = 0;
};

Parts VerdictPartsOf(const IntervalMeasure& m) {
  return {m.compute_ns + m.copy_only_ns + m.opaque_only_ns, m.idle_host_ns + m.idle_launch_ns, m.exposed_comm_ns()};
}

}  // namespace

bool IsSelectedStep(const Fleet& fleet, const StepRow& row, const TimeOfRank& window) {
  if (row.step == kNoStep || !fleet.SelectsStep(row)) return false;
  return !window || (row.window_start_ns < window->second && row.window_end_ns > window->first);
}

std::string_view Name(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::kGpu:
      return "gpu";
    case StepVerdict::kHost:
      return "host";
    case StepVerdict::kCommunication:
      return "communication";
    case StepVerdict::kNone:
      break;
  }
  return "";
}

StepVerdict VerdictOf(const IntervalMeasure& measure) {
  const Parts parts = VerdictPartsOf(measure);
  const int64_t largest = std::max({parts.gpu, parts.host, parts.communication});
  if (measure.span_ns <= 0 || largest <= measure.span_ns / 3) return StepVerdict::kNone;
  if (largest == parts.gpu) return StepVerdict::kGpu;
  return largest == parts.communication ? StepVerdict::kCommunication : StepVerdict::kHost;
}

std::vector<StepOfRank> ComputeSteps(const Fleet& fleet, const FleetMeasures& measures) {
  std::vector<StepOfRank> result;
  const SlowSteps slow(fleet, measures);
  for (size_t member = 0; member < fleet.members.size(); ++member) {
    const std::vector<StepRow>& rows = fleet.members[member].source->steps;
    const TimeOfRank window = fleet.TimeWindowOf(fleet.members[member]);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!IsSelectedStep(fleet, rows[i], window)) continue;
      result.push_back(
          {member, &rows[i], measures.ranks[member].by_step[i], VerdictOf(rows[i].tile), slow.Why(member, i)});
    }
  }
  return result;
}

}  // namespace lockstep
