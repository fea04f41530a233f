// What happened on every rank of a simulated run: one small record for each executed op. Pure values.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// One op of one rank in one step: the host's call and what it started on the device (start = end = 0: nothing).
// Times are ns, first on the true clock and later, in a recorded timeline, as the trace shows them; both on the Unix
// axis.
struct Activity {
  int64_t call_start_ns = 0;
  int64_t call_end_ns = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int32_t step = 0;
  uint32_t op = 0;  // position in the step's ops
};

struct StepSpan {
  int32_t step = 0;
  int64_t start_ns = 0;  // host time
  int64_t end_ns = 0;
  size_t first_activity = 0;  // index into RankTimeline::activities; the step's ops follow in order
};

struct RankTimeline {
  std::vector<Activity> activities;  // in the order of the host's calls
  std::vector<StepSpan> steps;
};

}  // namespace lockstep
