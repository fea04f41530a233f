// Who makes the run slower than it need be, in the long run: each rank's own time beyond that of the peers that do the
// same job, and each communicator's transfer beyond that of equal ones.
//
// Blame tells who caused the waits that there were; where every arrival jitters by more than a rank is slower, most of
// these are chance. The parts of the same instances summed with their signs let chance cancel, but also hold what
// delayed nobody. An origin is who has both: a part that stays longer than the peers', and blame for it. Own time is
// measured on each rank's own clock: no clock alignment is needed. Peers are members of the same instance whose sources
// run (nearly) the same kernels as often: stages of a pipeline are not compared with each other.
// docs/algorithms/causes.md. Pure. Units: ns over the whole run.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/arrivals/lateness.h"
#include "analysis/metrics/causes/blame.h"
#include "analysis/metrics/replay/replay.h"

namespace lockstep {

struct OriginSuspect {
  int32_t rank_index = -1;                  // -1: a communicator's transfer
  int32_t communicator = -1;                // set for a transfer only
  LatenessPart part = LatenessPart::kRest;  // kTransfer for a communicator
  int64_t excess_ns = 0;                    // of the part, beyond the peers
  int64_t critical_ns = 0;                  // blamed on the part, on the critical path
  int64_t saving_ns_per_step = 0;           // by replay, without the part; FindOrigins only, never to be shown as such
};

// By excess times (critical time + what is blamed on a rank on average), descending, then ranks by index, then
// communicators; only with a positive excess. A rank has one entry, its foremost part.
[[nodiscard]] std::vector<OriginSuspect> RankOrigins(const RunData& run, const RankResolution& ranks,
                                                     const ArrivalGraph& graph, const MatchResult& match,
                                                     const BlameResult& blame);

// The foremost of RankOrigins and of the blame, ordered by what the run would gain without them: a replay of each of
// their parts decides. Where all that is below a thousandth of half a step, the order of RankOrigins stands. Bounded: a
// dozen suspects, three replays of each.
[[nodiscard]] std::vector<OriginSuspect> FindOrigins(const RunData& run, const RankResolution& ranks,
                                                     const ArrivalGraph& graph, const MatchResult& match,
                                                     const BlameResult& blame, const Replay& replay);

}  // namespace lockstep
