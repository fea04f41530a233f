// What speaks against the saving that the replay tells of a straggler, or beyond it, and how much it computes more than
// others. Pure. Units: ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/metrics/replay/replay.h"
#include "analysis/metrics/stragglers/candidates.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/metrics/stragglers/test_units.h"

namespace lockstep {

// Mean time per step in which a rank computes; 0 without steps.
[[nodiscard]] double ComputePerStep(const StragglerInput& input, size_t rank_index);

// No step is shorter than what the ranks that are not fixed compute in it.
[[nodiscard]] bool MendsBeyondOthers(const StragglerInput& input, const std::vector<int32_t>& mended,
                                     const WhatIf& what_if);

// How long others may have waited for the candidate's rank where that is not told: it was the last one.
[[nodiscard]] double OthersMayHaveWaited(const StragglerInput& input, const TestUnits& units,
                                         const Candidate& candidate);

// Own time needs no clocks, but when others wait for it does: they may hide what the replay says is not saved.
[[nodiscard]] bool ClocksHideSaving(const StragglerInput& input, const TestUnits& units, const Candidate& candidate,
                                    double late_ns, const WhatIf& what_if);

// Where nobody does the same at the place of its stalls, and they are as many as the other steps, or more, the replay
// takes them for usual: the others lost far more to it than it says.
[[nodiscard]] bool MendsLittleOfStalls(const StragglerInput& input, const TestUnits& units, const Candidate& candidate,
                                       double late_ns, const WhatIf& what_if);

// Of the ranks against the mean of all others, in a step; very much without steps, which nothing then contradicts.
[[nodiscard]] double ComputeExcess(const StragglerInput& input, const std::vector<int32_t>& ranks);

// How much more may be saved than the replay says, where it misses waits: because records are lost, or because a clock
// that is off hides part of the waiting in each collective. Not more than it is late by. A part of the mean step, as
// the saving is.
[[nodiscard]] double MissedSaving(const StragglerInput& input, const TestUnits& units, const Candidate& candidate,
                                  double late_ns, const WhatIf& what_if);

}  // namespace lockstep
