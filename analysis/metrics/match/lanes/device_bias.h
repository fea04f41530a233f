// Large biases of devices inside one capture session, found before anything is joined.
//
// The joins allow devices of one session to differ by what real sessions show (15 us). Where profilers convert device
// clocks worse than that, the same lane of every device keeps a constant distance from that of the first device of the
// session: it is taken off before joining and given back, as a bias, to the clock model. Only in sessions: files that
// merely claim one host may be of two machines.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/collective_rows.h"
#include "analysis/metrics/match/communicators.h"
#include "analysis/metrics/run/host_domains.h"

namespace lockstep {

// What each rank's device reads more than the first of its session, per rank index; 0 where it is within what the joins
// allow, or where its lanes do not tell.
[[nodiscard]] std::vector<int64_t> FindLargeBiases(const std::vector<CommunicatorPlan>& plans,
                                                   const DomainPlan& domains, const std::vector<RankRows>& rows,
                                                   Executor& executor);

// Moves every row of each rank by so much.
void MoveRows(const std::vector<int64_t>& by_ns, std::vector<RankRows>& rows);

}  // namespace lockstep
