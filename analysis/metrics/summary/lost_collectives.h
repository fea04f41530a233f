// Collectives that a rank lacks although the others of its groups recorded them: lost by the tracer, or not joined.
// Only between the rank's own first and last one of that group: a shorter capture has lost nothing. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/ranks.h"

namespace lockstep {

struct LostCollectives {
  int32_t rank_index = -1;
  int64_t lost = 0;
  int64_t expected = 0;  // confident ones of its groups in its time
  int64_t first_ns = 0;  // aligned: the others' first arrival in the first it lacks
  // A tenth or more: too many for figures of that rank.
  [[nodiscard]] bool IsMuch() const { return lost * 10 >= expected; }
};

// Of the ranks that lack any; by share lost, descending, then rank index. Groups of unknown members are passed over.
[[nodiscard]] std::vector<LostCollectives> FindLostCollectives(const RankResolution& ranks, const MatchResult& match);

}  // namespace lockstep
