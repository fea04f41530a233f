#include "analysis/metrics/match/rank_islands.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {

RankIslands IslandsOf(DisjointSets& connected, size_t ranks) {
  RankIslands out;
  std::map<size_t, size_t> place;  // of each set
  for (size_t r = 0; r < ranks; ++r) {
    const auto [at, is_new] = place.emplace(connected.Find(r), out.size());
    if (is_new) out.emplace_back();
    out[at->second].push_back(r);
  }
  return out;
}

RankIslands PackIslands(RankIslands islands) {
  constexpr size_t kMostSets = 128;
  size_t ranks = 0;
  for (const std::vector<size_t>& island : islands) ranks += island.size();
  const size_t least = (ranks + kMostSets - 1) / kMostSets;
  RankIslands out;
  for (std::vector<size_t>& island : islands) {
    if (out.empty() || out.back().size() >= least) {
      out.push_back(std::move(island));
    } else {
      out.back().insert(out.back().end(), island.begin(), island.end());
    }
  }
  for (std::vector<size_t>& set : out) std::sort(set.begin(), set.end());
  return out;
}

}  // namespace lockstep
