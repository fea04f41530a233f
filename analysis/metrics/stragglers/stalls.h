// Units in which a candidate is late far beyond all its others: stalls, slow stretches, and what happened once. Pure.
#pragma once

#include <optional>

#include "analysis/metrics/stragglers/candidates.h"

namespace lockstep {

// Two such units or more make up most of its lateness. Whether that is chance is not asked: in these units it stalled.
[[nodiscard]] bool Stalls(const Candidate& candidate);

// Units in which it is late far beyond what is usual for it.
[[nodiscard]] size_t CountFarUnits(const Candidate& candidate);

// How long its stalls are, against its usual unit: the median of them, ns; null: it does not stall.
[[nodiscard]] std::optional<double> UsualStall(const Candidate& candidate);

// It stalls, or one stretch of units (FindBurst), in which it is late by 1 % of a unit and more, makes up most of its
// lateness. A rank that is slow in one half of a run, and another one in the other half, are late in too few units for
// a sign test, but in these units they were late.
[[nodiscard]] bool StandsOut(const Candidate& candidate);

// Late in nearly all of its units, by far more than these differ: six standard deviations of noise about the lower
// quartile stay beyond the floor. So it was late all along; how far units that follow each other are independent, and
// with it whether it will be late again, is another question.
[[nodiscard]] bool LateThroughout(const Candidate& candidate);

// In half or more of the units in which the candidate is late the other one is late, too.
[[nodiscard]] bool IsMostlyLateWith(const Candidate& candidate, const Candidate& other);

// One short stretch of such units makes up most of its lateness: that is told as what happened once, and does not make
// it late again and again. How late it was there, in ns; null: there is no such stretch.
[[nodiscard]] std::optional<double> LateInOneEvent(const Candidate& candidate);

}  // namespace lockstep
