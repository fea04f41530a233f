#include "analysis/metrics/fleet/step_time.h"

#include "analysis/metrics/fleet/job_steps.h"

namespace lockstep {

std::optional<Sketch> ComputeStepTime(const Fleet& fleet) {
  const JobSteps job = ComputeJobSteps(fleet);
  if (job.members.empty()) return std::nullopt;
  Sketch time;
  if (job.comparable && !job.steps.empty()) {
    for (const JobStep& step : job.steps) time.Add(step.longest_ns);
    return time;
  }
  for (const size_t member : job.members) {
    for (const auto& [number, step] : StepsOfMember(fleet, fleet.members[member])) time.Add(step.span_ns);
  }
  return time;
}

}  // namespace lockstep
