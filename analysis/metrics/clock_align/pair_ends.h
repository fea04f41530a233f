// Differences of the ends of two devices over their shared instances, and their last-arriver-balanced centre.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/clock_align/robust.h"

namespace lockstep {

struct PairEnd {
  int64_t t_ns = 0;        // LocalTime of a's end
  int64_t d_ns = 0;        // end_a - end_b
  int64_t later_ns = 0;    // start_a - start_b
  int64_t shorter_ns = 0;  // duration
  uint32_t cls = 0;
  bool last = false;   // the later one of the two is the last of all that are compared
  int64_t own_ns = 0;  // duration of the later one; 0 where others, on other clocks, may have come later
};

struct PairCentre {
  double centre_ns = 0;
  double se_ns = 0;         // standard error of the centre
  double scatter95_ns = 0;  // 95th percentile of |d - level of its side|, over the classes used
  double scale_ns = 0;      // standard deviation of the same
  size_t a_later = 0;       // instances on either side
  size_t b_later = 0;
  double level_a_ns = 0;  // median of d on either side
  double level_b_ns = 0;
  double last_a_ns = 0;  // median of d where a, or b, was the last of all; 0 without such
  double last_b_ns = 0;
  size_t a_last = 0;  // instances of either
  size_t b_last = 0;
  double position_ns = 0;  // by how much ends may lie apart by the devices' places in the operation, up to the sign
  double duration_ns = 0;  // typical one of the instances used
  bool borrowed = false;   // the centre follows from one side and from what the side matters in other pairs
  bool guessed = false;    // the centre follows from one side and from how far apart clocks and ends usually are
  std::vector<PairEnd> used;

  static constexpr size_t kEachSide = 20;
  [[nodiscard]] bool balanced() const { return a_later >= kEachSide && b_later >= kEachSide; }
  [[nodiscard]] bool measured() const { return balanced() || borrowed || guessed; }
  // By how much single ends lie off the centre of a balanced pair, to the side of the one that was the last of all.
  [[nodiscard]] std::vector<double> LastEffects() const;
  // For a pair of which nearly always the same one is later: takes the effect from elsewhere, if one side has enough.
  void Borrow(double effect_ns, double effect_sd_ns);
  // For such a pair where no other one tells the effect: the expected difference of the clocks, given what is seen and
  // a normal prior of standard deviation `clock_sd_ns`, if the ends are apart by more than chance and not by more than
  // clocks and places explain. Its error takes the place of the standard error.
  void Guess(double clock_sd_ns);
};

[[nodiscard]] PairCentre CentreOf(const std::vector<PairEnd>& ends, int64_t tick_ns);

// Times at which the ends of the pair jump against each other by more than their scatter explains.
[[nodiscard]] std::vector<Jump> JumpsOf(const PairCentre& centre);

// The order statistic of rank ceil(0.95 n) of |d - shift|; `ends` not empty.
[[nodiscard]] int64_t Percentile95(const std::vector<PairEnd>& ends, int64_t shift_ns);

}  // namespace lockstep
