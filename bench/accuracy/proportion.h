// Shares of trials and how sure they are: exact binomial (Clopper-Pearson) intervals.
#pragma once

namespace lockstep {

struct Interval {
  double lo = 0;
  double hi = 1;
};

// The exact 95 % interval of a share of which `hits` of `trials` were seen. No trials: [0, 1]. Either may be a
// fraction.
[[nodiscard]] Interval ClopperPearson(double hits, double trials);

}  // namespace lockstep
