// Shares of trials and how sure they are: exact binomial (Clopper-Pearson) intervals.
#pragma once

#include <cstdint>

namespace lockstep {

struct Interval {
  double lo = 0;
  double hi = 1;
};

// The exact 95 % interval of a share of which `hits` of `trials` were seen. No trials: [0, 1].
[[nodiscard]] Interval ClopperPearson(int64_t hits, int64_t trials);

}  // namespace lockstep
