// Fleet health: how the ranks of each host of the new side changed, compared with those of all other hosts. If the
// ranks of one host compute 5 % longer than they did on the base side, and those of the others do not, the host became
// worse, or is worse than the one that these ranks were on before. A change of the code changes all hosts alike. It
// rests on the pairs of ranks (rank_pairing.h). Pure, thread safe.
#pragma once

#include <vector>

#include "analysis/compare/rows/comparison.h"

namespace lockstep::compare {

// The hosts that became worst first; empty where ranks are not paired, or no host is known.
[[nodiscard]] std::vector<report::HostChange> HostChangesOf(const report::RankPairing& pairing);

}  // namespace lockstep::compare
