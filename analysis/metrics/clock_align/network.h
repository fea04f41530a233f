// One consistent set of clocks from all that groups and pairs measured: weighted least squares, knot by knot.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/clock_align/dense.h"
#include "analysis/metrics/clock_align/group_clock.h"
#include "analysis/metrics/clock_align/one_way.h"

namespace lockstep {

struct NetworkClock {
  std::vector<int32_t> domains;             // of the component, ascending
  std::vector<std::vector<double>> value;   // [knot][domain], of the reference 0
  std::vector<SymmetricMatrix> covariance;  // [knot], the reference's rows 0

  [[nodiscard]] double Sigma(size_t knot, size_t a, size_t b) const;
};

[[nodiscard]] NetworkClock SolveNetwork(std::vector<int32_t> domains, int32_t reference, size_t knots,
                                        const std::vector<GroupClock>& groups, const std::vector<PairClock>& pairs);

}  // namespace lockstep
