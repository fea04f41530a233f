#include "analysis/metrics/match/match_counts.h"

#include <algorithm>

namespace lockstep {

namespace {

void CountDrops(const MatchedInstance& instance, std::vector<DropCounters>& rank_drops) {
  const auto count = [&](DropReason reason) {
    for (const MatchedMember& m : instance.members) rank_drops[static_cast<size_t>(m.rank_index)].Add(reason);
  };
  if (instance.no_group) count(DropReason::kNoGroup);
  if (instance.kind == MatchKind::kAmbiguous) {
    count(DropReason::kAmbiguousInstance);
  } else if (instance.unmatched) {
    count(DropReason::kUnmatchedInstance);
  }
}

}  // namespace

MatchCounts::MatchCounts(const RankResolution& ranks) : rank_drops_(ranks.ranks.size()), lost_(ranks) {}

void MatchCounts::Add(const Chapter& chapter) {
  const MatchResult& match = chapter.match;
  ForEachOwn(chapter, [&](const MatchedInstance& instance) {
    lost_.Add(instance, match.communicators[instance.communicator]);
    CountDrops(instance, rank_drops_);
  });
  for (size_t r = 0; r < match.arrivals.size(); ++r) {
    const auto& rows = match.arrivals[r];
    const RowRange own = chapter.OwnOf(r);
    for (int64_t row = own.first; row < std::min(own.last, static_cast<int64_t>(rows.size())); ++row) {
      if (rows[static_cast<size_t>(row)].duplicate) rank_drops_[r].Add(DropReason::kDuplicateRecord);
    }
  }
}

void MatchCounts::Finish(RunMatch& match) const {
  match.rank_drops = rank_drops_;
  match.drops = {};
  for (const DropCounters& drops : rank_drops_) match.drops.Merge(drops);
  match.lost = lost_.Finish(match.communicators);
}

}  // namespace lockstep
