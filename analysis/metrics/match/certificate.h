// The common-point certificate: on right clocks all kernels of one all-pairs collective share an instant, because none
// can end before all have started. It certifies a join, an operation class, and that ranks share a clock.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/collective_rows.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/host_domains.h"

namespace lockstep {

struct Certificate {
  int64_t checked = 0;  // instances with at least two members on one clock
  int64_t common = 0;   // those whose members of each domain share a point, device biases up to 15 us taken out
  std::vector<ClockEvidence> evidence;  // per rank against the lowest rank of its domain

  [[nodiscard]] double rate() const {
    return checked == 0 ? 1 : static_cast<double>(common) / static_cast<double>(checked);
  }
};

// Instances joined by whatever means; members need rank_index, start_ns and end_ns. `domain`: per rank index.
[[nodiscard]] Certificate Certify(const std::vector<const MatchedInstance*>& instances,
                                  const std::vector<int32_t>& domain, const std::vector<RankRows>& rows);

// May the operation be an all-pairs one? Certain for some, possible for those a name does not tell.
[[nodiscard]] bool MayBeAllPairs(CollectiveOp op);

}  // namespace lockstep
