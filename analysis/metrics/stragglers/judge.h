// The verdict on each candidate: is it late in more steps than chance explains. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/metrics/stragglers/candidates.h"

namespace lockstep {

struct Judgement {
  double mean_ns = 0;     // per unit
  double late_share = 0;  // of the units, beyond the minimum effect
  double n_eff = 0;
  double p_seldom = 1;    // of having by chance so many of its family's large delays
  double p_stalls = 1;    // that by chance any of its family has so many of its delays of this one's size
  double p_adjusted = 1;  // Holm over all candidates
  double steps_needed = 0;
};

// Of each candidate three tests share alpha: the sign test on its units, for seldom but large delays whether it has
// more of them than its family would give it by chance, and whether its mean without its largest values lies far beyond
// its family's noise (late by much in about half of the units). Of two members also the mean of their difference.
inline constexpr double kSignShare = 0.9;
inline constexpr double kSeldomShare = 0.09;
inline constexpr double kMeanShare = 0.01;
inline constexpr double kPairShare = 0.1;  // of two members, out of kSignShare
// More steps than the least that would do leave room for one or two in which a straggler is not late by chance.
inline constexpr double kStepMargin = 1.4;

// Independent units below which nothing is decided: who is late in nearly all of so many differs from chance.
[[nodiscard]] double LeastUnits(size_t candidates);
// What a series is worth is itself estimated: the number of units that is called enough leaves this much room.
inline constexpr double kWorthMargin = 1.25;
[[nodiscard]] std::vector<Judgement> JudgeCandidates(const std::vector<Candidate>& candidates);
[[nodiscard]] std::vector<Judgement> JudgeCandidates(const std::vector<const Candidate*>& candidates);

}  // namespace lockstep
