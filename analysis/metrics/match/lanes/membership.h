// Which ranks talk to each other, when the traces name nothing but kernels.
//
// A lane is what one rank runs on one stream. Two lanes share a communicator if nearly every kernel of either has a
// partner in the other that ends with it and shares an instant with it. Groups that run the same program in lockstep
// come close to that, but their ends scatter: of the lanes that would do, those whose ends scatter several times as
// much as the best are left out. Communicators are the sets in which every pair fits; whatever fits several sets, or
// none, stays unknown.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/collective_rows.h"
#include "analysis/metrics/match/communicators.h"
#include "analysis/metrics/match/lanes/coarse_clocks.h"
#include "analysis/metrics/run/ranks.h"

namespace lockstep {

// The lanes of one plan: of a told communicator one a rank, else one a stream.
struct PlanLanes {
  std::vector<RankLane> lanes;
  std::vector<std::vector<uint32_t>> rows;  // per lane: indices into RankRows::rows, in order of start
};

[[nodiscard]] PlanLanes LanesOf(const CommunicatorPlan& plan, uint64_t plan_number, const std::vector<RankRows>& rows,
                                const ClockModel& clock);

// Splits a plan of unknown or assumed membership into the communicators that its lanes show; what none of them takes
// stays in a plan of unknown membership. Unchanged where the lanes are too short to show anything.
[[nodiscard]] std::vector<CommunicatorPlan> DiscoverMembership(const CommunicatorPlan& plan,
                                                               const RankResolution& ranks,
                                                               const std::vector<RankRows>& rows,
                                                               const ClockModel& clock, Executor& executor);

}  // namespace lockstep
