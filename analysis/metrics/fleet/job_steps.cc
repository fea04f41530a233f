#include "analysis/metrics/fleet/job_steps.h"

#include <algorithm>

#include "analysis/metrics/fleet/steps.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

int64_t SpanOfStep(const StepRow& row, bool is_last) {
  const bool runs_on = is_last && row.last_end_ns != kNoTime && row.last_end_ns > row.window_start_ns;
  return runs_on ? std::min(row.tile.span_ns, row.last_end_ns - row.window_start_ns) : row.tile.span_ns;
}

struct CountedStep {
  JobStep step;
  size_t ranks = 0;
};

}  // namespace

std::map<int64_t, StepOfMember> StepsOfMember(const Fleet& fleet, const FleetRank& member) {
  std::map<int64_t, StepOfMember> steps;
  const std::vector<StepRow>& rows = member.source->steps;
  const TimeOfRank window = fleet.TimeWindowOf(member);
  for (size_t i = 0; i < rows.size(); ++i) {
    const StepRow& row = rows[i];
    if (!IsSelectedStep(fleet, row, window)) continue;
    const int64_t span_ns = SpanOfStep(row, i + 1 == rows.size());
    const auto [found, is_new] = steps.try_emplace(row.step, StepOfMember{i, span_ns});
    if (!is_new && span_ns > found->second.span_ns) found->second = {i, span_ns};
  }
  return steps;
}

JobSteps ComputeJobSteps(const Fleet& fleet) {
  JobSteps job;
  std::map<int64_t, CountedStep> counted;
  for (size_t i = 0; i < fleet.members.size(); ++i) {
    const FleetRank& member = fleet.members[i];
    const std::map<int64_t, StepOfMember> steps = StepsOfMember(fleet, member);
    if (steps.empty()) continue;
    job.members.push_back(i);
    job.comparable = job.comparable && !NumbersItsOwnSteps(member.source->context.step_source);
    for (const auto& [number, of_rank] : steps) {
      CountedStep& of_job = counted[number];
      if (of_job.ranks++ == 0 || of_rank.span_ns > of_job.step.longest_ns) {
        of_job.step = {number, of_rank.span_ns, i};
      }
    }
  }
  for (const auto& [number, of_job] : counted) {
    if (of_job.ranks == job.members.size()) {
      job.steps.push_back(of_job.step);
    } else {
      ++job.partial;
    }
  }
  return job;
}

}  // namespace lockstep
