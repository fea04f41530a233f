// The steps of the job: those that every rank has which has steps at all. A step of the job begins when its last rank
// begins it, on the aligned clock, since all others wait for that one at the next collective, and ends where the next
// one begins: the steps add up to the run, so that a pause of one rank counts once, whatever step it lies in on the
// others. Of ranks whose clocks are not aligned with each other the longest counts. A first step takes as long as on
// the rank where it takes longest: who was late into it is not known. The last step of a capture ends with its own
// last activity, since no step follows that would end it. Units: ns. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/model/step_row.h"

namespace lockstep {

struct StepOfMember {
  size_t row = 0;  // into SourceData::steps
  int64_t span_ns = 0;
};

// The selected steps of one rank by number. Where several captures use a number again, the longest of them counts.
[[nodiscard]] std::map<int64_t, StepOfMember> StepsOfMember(const Fleet& fleet, const FleetRank& member);

struct JobStep {
  int64_t number = 0;
  int64_t time_ns = 0;
};

struct JobSteps {
  std::vector<JobStep> steps;   // ascending by number
  std::vector<size_t> members;  // those that have steps, ascending
  size_t partial = 0;           // steps that some of these have and others lack
  bool comparable = true;  // false: ranks number their steps by themselves, so equal numbers may be different steps
};

[[nodiscard]] JobSteps ComputeJobSteps(const Fleet& fleet);

}  // namespace lockstep
