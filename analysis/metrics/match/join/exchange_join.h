// Joins kernels of pairs of ranks that tell no peer: by an id that two rows share, else by their ends, along the links
// between the ranks (exchange_links.h). Internal to the joining of instances.
#pragma once

#include <vector>

#include "analysis/metrics/match/join/instance_builder.h"

namespace lockstep {

// `all`: sends, receives, or both in one kernel, of one communicator; they show which ranks talk to each other. `rows`:
// those to join. All that is not joined is ambiguous.
[[nodiscard]] CommunicatorJoin JoinExchanges(const JoinInput& input, const std::vector<RowRef>& all,
                                             const std::vector<RowRef>& rows);

// Whether kernels that send and receive are exchanges of pairs rather than of all members. `rows`: per member.
[[nodiscard]] bool ExchangesInPairs(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows);

}  // namespace lockstep
