// What the matching did not join, counted over the chapters of a run: drops by rank, and lost collectives. Pure.
#pragma once

#include <vector>

#include "analysis/metrics/match/chapter.h"
#include "analysis/metrics/match/lost_collectives.h"

namespace lockstep {

// Borrows the ranks.
class MatchCounts {
 public:
  explicit MatchCounts(const RankResolution& ranks);
  // Those of a rank in order of time.
  void Add(const Chapter& chapter);
  // Fills drops, rank_drops and lost.
  void Finish(RunMatch& match) const;

 private:
  std::vector<DropCounters> rank_drops_;
  LostCollectivesCount lost_;
};

}  // namespace lockstep
