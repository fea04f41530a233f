// Where each rank stands: on which host, at which place of it, in which pipeline stage. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/ranks.h"

namespace lockstep {

struct HostRanks {
  std::string name;
  std::vector<int32_t> rank_indices;  // ascending
};

struct Positions {
  std::vector<HostRanks> hosts;      // by lowest rank index; ranks of unknown host are in none
  std::vector<int32_t> host;         // by rank index: into hosts, -1 = unknown
  std::vector<int32_t> local_index;  // by rank index: place among its host's ranks, -1 = unknown
  std::vector<int32_t> stage;        // by rank index: pipeline stage from 0, -1 = not told
};

// `layout` as --layout writes it ("tp=8,pp=2,dp=4,order=tp-dp-pp"); "" = from the communicators, where their names or
// their sends and receives tell the pipeline.
[[nodiscard]] Positions FindPositions(const RankResolution& ranks, const MatchResult& match, std::string_view layout);

}  // namespace lockstep
