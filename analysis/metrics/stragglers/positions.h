// Where each rank stands: on which host, at which place of it, in which pipeline stage. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/run/parallel_layout.h"
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

// Which ranks stand in one pipeline, by their communicators' names, or by sends and receives between them. Fed with all
// instances of a run, matched or not.
class PipelineLinks {
 public:
  void Add(const MatchedInstance& instance, const Communicator& communicator);
  // Pipeline stage by rank index; -1 where pipelines are not told or not equally long.
  [[nodiscard]] std::vector<int32_t> Stages(size_t ranks) const;

 private:
  struct OfCommunicator {
    bool seen = false;
    bool named = false;
    bool only_sends = false;
    std::set<std::pair<int32_t, int32_t>> links;   // rank indices
    std::set<std::pair<int32_t, int32_t>> unsure;  // the same, of what is none if the group has other operations
  };
  std::vector<OfCommunicator> communicators_;
};

// The stages are those of `layout`; without one, those that the communicators tell.
[[nodiscard]] Positions FindPositions(const RankResolution& ranks, const RunMatch& match, const PipelineLinks& links,
                                      const std::optional<ParallelLayout>& layout);

}  // namespace lockstep
