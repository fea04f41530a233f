// When ranks took part in communication of which they have no record: what they waited there looks like their own time.
// Pure. Aligned times, ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/match.h"

namespace lockstep {

// Built from the instances that others of a communicator have and a rank of it lacks, as far as they are joined with
// confidence. Of two ranks the row that one has alone is such an instance.
class LostRows {
 public:
  explicit LostRows(const MatchResult& match);

  // Whether such an instance ended in (from_ns, to_ns].
  [[nodiscard]] bool EndsWithin(int32_t rank_index, int64_t from_ns, int64_t to_ns) const;

 private:
  std::vector<std::vector<int64_t>> ends_;  // by rank index, ascending
};

}  // namespace lockstep
