// A stretch of a run, matched: what everything that is computed of single instances is fed with, one after the other.
//
// A run of moderate size is one chapter. A larger one is cut by time; then a chapter also has rows of its neighbours,
// so that instances at its edges are whole and the first ones have something before them. Each row of a rank and each
// instance is some chapter's own, once: an instance is where the row of its lowest rank is. Rows are counted within the
// chapter. Pure. Thread rule: a plain value that borrows.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/match/match.h"

namespace lockstep {

// Rows [first, last) of a rank.
struct RowRange {
  int64_t first = 0;
  int64_t last = INT64_MAX;
  [[nodiscard]] bool Has(int64_t row) const { return row >= first && row < last; }
};

struct Chapter {
  const MatchResult& match;
  std::vector<RowRange> own = {};  // by rank index; empty: all

  [[nodiscard]] RowRange OwnOf(size_t rank_index) const { return own.empty() ? RowRange{} : own[rank_index]; }
  [[nodiscard]] bool Owns(const MatchedInstance& instance) const {
    const MatchedMember& lowest = instance.members.front();
    return OwnOf(static_cast<size_t>(lowest.rank_index)).Has(lowest.row);
  }
};

// use(instance) of each own one, in the order of the match.
template <typename Use>
void ForEachOwn(const Chapter& chapter, const Use& use) {
  for (const MatchedInstance& instance : chapter.match.instances) {
    if (chapter.Owns(instance)) use(instance);
  }
}

}  // namespace lockstep
