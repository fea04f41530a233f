#include "analysis/metrics/fleet/job_steps.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "analysis/metrics/fleet/steps.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

int64_t SpanOfStep(const StepRow& row, bool is_last) {
  const bool runs_on = is_last && row.last_end_ns != kNoTime && row.last_end_ns > row.window_start_ns;
  return runs_on ? std::min(row.tile.span_ns, row.last_end_ns - row.window_start_ns) : row.tile.span_ns;
}

// When the last rank of a clock component begins and ends a step, on the aligned clock.
struct LastOfStep {
  int64_t begin_ns = INT64_MIN;
  int64_t end_ns = INT64_MIN;
};

struct CountedStep {
  std::map<int32_t, LastOfStep> last;  // by clock component
  int64_t longest_ns = 0;              // of any rank
  size_t ranks = 0;
};

// From where the step begins, if one comes right before it, to where the next step begins; where none follows at once,
// to the step's own end. Of a first step it is not known who was late into it.
int64_t TimeOf(const CountedStep& step, bool is_first, const CountedStep* next) {
  if (is_first) return step.longest_ns;
  int64_t time_ns = INT64_MIN;
  for (const auto& [component, last] : step.last) {
    int64_t end_ns = last.end_ns;
    if (next != nullptr) {
      const auto of_next = next->last.find(component);
      if (of_next != next->last.end()) end_ns = of_next->second.begin_ns;
    }
    time_ns = std::max(time_ns, end_ns - last.begin_ns);
  }
  // Ranks that are at different steps at one time have no common begin.
  return time_ns > 0 ? time_ns : step.longest_ns;
}

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
    const int32_t component = fleet.match.clock.ComponentOf(static_cast<int32_t>(member.index));
    for (const auto& [number, of_rank] : steps) {
      CountedStep& of_job = counted[number];
      ++of_job.ranks;
      of_job.longest_ns = std::max(of_job.longest_ns, of_rank.span_ns);
      const int64_t begin_ns = fleet.ToAligned(member, member.source->steps[of_rank.row].window_start_ns);
      LastOfStep& last = of_job.last[component];
      last.begin_ns = std::max(last.begin_ns, begin_ns);
      last.end_ns = std::max(last.end_ns, begin_ns + of_rank.span_ns);
    }
  }
  int64_t before = kNoStep;
  for (auto step = counted.begin(); step != counted.end(); ++step) {
    if (step->second.ranks != job.members.size()) {
      ++job.partial;
      continue;
    }
    const auto next = std::next(step);
    const bool follows =
        next != counted.end() && next->first == step->first + 1 && next->second.ranks == job.members.size();
    const bool is_first = job.steps.empty() || before + 1 != step->first;
    before = step->first;
    job.steps.push_back({step->first, TimeOf(step->second, is_first, follows ? &next->second : nullptr)});
  }
  return job;
}

}  // namespace lockstep
