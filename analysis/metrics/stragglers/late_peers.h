// Ranks that are known to be late, left out of what the others are compared with: in a mean of peers, one that is late
// by much hides all that are late by less. Pure. Units: ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/stragglers/candidates.h"
#include "analysis/metrics/stragglers/judge.h"

namespace lockstep {

// The ranks (indices, ascending) that are late beyond chance, or stand out in some units, by five times the minimum
// effect or more. `judgements`: of the candidates.
[[nodiscard]] std::vector<int32_t> LateRanks(const std::vector<Candidate>& candidates,
                                             const std::vector<Judgement>& judgements);

// Those, and the ranks that are hidden: every other member of the communicator that they are compared with is late
// beyond chance, by itself or in a group of which they are not. What such a rank is late by at one place of a step is
// what the others are late by at another. `own`: by rank index.
[[nodiscard]] KnownLate FindLate(const std::vector<Candidate>& candidates, const std::vector<Judgement>& judgements,
                                 const std::vector<RankOwnTime>& own);

// Those of `late` are judged among all, and all others among themselves: the large delays of one say nothing of
// another.
[[nodiscard]] std::vector<Judgement> JudgeApart(const std::vector<Candidate>& candidates,
                                                const std::vector<int32_t>& late);

}  // namespace lockstep
