// Host times and gaps brought to the level of the peers, each length as it is (see replay_ideal.h). Pure. Units: ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/replay/replay_usual.h"

namespace lockstep {

// One length that is compared with the peers' as it is: host times, gaps.
struct ComparedLength {
  int32_t node = 0;
  int32_t position = -1;
  int64_t own_ns = 0;
  double peers_ns = 0;
  double variance_ns2 = 0;  // between the peers
  double largest_ns = 0;    // among the peers
  int64_t peers = 1;
  int32_t stalled_rank = -1;  // of one more peer, which was far beyond these; -1: none
};

// What is beyond the peers' own noise is brought to their mean; the rest keeps its noise, less a constant surplus.
// Who is faster than the peers stays so.
// Rare long ones as the peers have them too, and no more of them, stay. Where a single peer stalls, for more than the
// pauses of any host, that is none of its noise, nor does it make up for what is long here.
[[nodiscard]] std::vector<ScaledResult> LevelToPeers(const std::vector<ComparedLength>& lengths);

// One length that nobody else has at its place, as a stage of a pipeline that is there once.
struct LoneLength {
  int32_t node = 0;
  int32_t position = -1;
  int64_t own_ns = 0;
};

// What is far longer than usual at its place becomes what is usual there. Only these are returned.
[[nodiscard]] std::vector<ScaledResult> LevelToUsual(const std::vector<LoneLength>& lengths);

}  // namespace lockstep
