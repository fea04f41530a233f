#include "analysis/metrics/fleet/step_time.h"

#include "analysis/metrics/fleet/job_steps.h"

namespace lockstep {

std::optional<StepTime> ComputeStepTime(const Fleet& fleet) {
  const JobSteps job = ComputeJobSteps(fleet);
  if (job.members.empty()) return std::nullopt;
  StepTime out;
  if (job.comparable && !job.steps.empty()) {
    for (const JobStep& step : job.steps) out.time.Add(step.time_ns);
    return out;
  }
  out.by_rank = job.members.size() > 1;
  for (const size_t member : job.members) {
    for (const auto& [number, step] : StepsOfMember(fleet, fleet.members[member])) out.time.Add(step.span_ns);
  }
  return out;
}

}  // namespace lockstep
