// Waiting told from durations alone, as a check on the aligned clocks.
//
// A kernel of an all-pairs operation runs from its rank's arrival to the common end, so dur_i - min dur is its wait
// without any clock, up to how far the ends lie apart. Valid where all members are present and the spread is at least
// 5 sigmas of the ends; sigma is 1.4826 times the median distance of the aligned ends from their instance's middle one,
// so errors of the clocks only make it larger. Not valid for kernels that start before their stream predecessor ends.
// Source of the estimator: JAX-Toolbox; docs/algorithms/collectives.md. Units: ns. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/skew/sums_by_spread.h"
#include "analysis/stats/sketch.h"
#include "analysis/stats/sketch_feed.h"

namespace lockstep {

struct ClockFreeWaits {
  int64_t instances = 0;              // valid ones
  int64_t wait_total_ns = 0;          // from durations
  int64_t uncertainty_ns = 0;         // half-width of its 95 % interval; the last arriver's end may lag always
  int64_t aligned_wait_total_ns = 0;  // of the same instances, from the aligned clocks
  int64_t aligned_uncertainty_ns = 0;
  int64_t end_sigma_ns = 0;

  // The durations tell these waits more sharply than the clocks do.
  [[nodiscard]] bool Finer() const { return uncertainty_ns < aligned_uncertainty_ns; }
  // Both tell the same within their uncertainties.
  [[nodiscard]] bool Agrees() const;
};

// Fed with the usable instances of one class: one communicator, operation and size.
class ClockFreeCheck {
 public:
  void Add(const MatchedInstance& instance);
  // Null where no instance is valid. The check is used up.
  [[nodiscard]] std::optional<ClockFreeWaits> Finish();

 private:
  void AddEndDistances(const MatchedInstance& instance);

  SumsBySpread candidates_;
  Sketch end_distances_;
  SketchFeed distances_;
  std::vector<int64_t> ends_;  // of the instance in hand
};

}  // namespace lockstep
