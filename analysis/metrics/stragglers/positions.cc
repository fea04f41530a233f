#include "analysis/metrics/stragglers/positions.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "analysis/base/disjoint_sets.h"

namespace lockstep {
namespace {

void FindHosts(const RankResolution& ranks, const RunMatch& match, Positions& positions) {
  std::map<std::pair<std::string, int32_t>, int32_t> known;
  for (size_t rank = 0; rank < ranks.ranks.size(); ++rank) {
    const std::string& name = ranks.ranks[rank].host;
    if (name.empty()) continue;
    // Two machines of one name are on different clocks.
    const auto index = static_cast<int32_t>(rank);
    const int32_t domain = match.host_conflict ? match.clock.DomainOf(index).value : 0;
    const auto [at, added] = known.try_emplace({name, domain}, static_cast<int32_t>(positions.hosts.size()));
    if (added) positions.hosts.push_back({name, {}});
    HostRanks& host = positions.hosts[static_cast<size_t>(at->second)];
    positions.host[rank] = at->second;
    positions.local_index[rank] = static_cast<int32_t>(host.rank_indices.size());
    host.rank_indices.push_back(index);
  }
}

bool IsPipelineName(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower == "pp" || lower.find("mesh_pp") != std::string::npos || lower.find("pipeline") != std::string::npos ||
         lower.rfind("pp_", 0) == 0 || lower.rfind("pp:", 0) == 0;
}

// Joins ranks that stand in one pipeline.
class Pipelines {
 public:
  explicit Pipelines(size_t ranks) : count_(ranks), ranks_(ranks) {}

  void Join(size_t a, size_t b) { ranks_.Join(a, b); }

  // Place of each rank in its pipeline by rank; nothing unless all pipelines are equally long and of two or more.
  [[nodiscard]] std::vector<int32_t> Stages() {
    std::map<size_t, int32_t> length;
    std::vector<int32_t> stages(count_);
    for (size_t rank = 0; rank < count_; ++rank) stages[rank] = length[ranks_.Find(rank)]++;
    const int32_t first = length.empty() ? 0 : length.begin()->second;
    const bool even = std::all_of(length.begin(), length.end(), [&](const auto& it) { return it.second == first; });
    if (!even || first < 2) stages.assign(count_, -1);
    return stages;
  }

 private:
  size_t count_;
  DisjointSets ranks_;
};

}  // namespace

// A kernel that may send or receive, of two ranks: in a group of more it is no exchange of all, so that it is one or
// the other; in a group of two it is only where the group has no other operation. Where a record was lost, one member
// is left.
void PipelineLinks::Add(const MatchedInstance& instance, const Communicator& communicator) {
  if (communicators_.size() <= instance.communicator) communicators_.resize(instance.communicator + size_t{1});
  OfCommunicator& of = communicators_[instance.communicator];
  const bool either = instance.op == CollectiveOp::kSendRecv && instance.members.size() <= 2;
  const bool send = IsPointToPoint(instance.op) || (either && communicator.members.size() > 2);
  if (!of.seen) of.named = IsPipelineName(communicator.name) || IsPipelineName(communicator.desc);
  of.only_sends = (send || either) && (of.only_sends || !of.seen);
  of.seen = true;
  if (!of.named && !of.only_sends) of.unsure.clear();
  for (size_t i = 1; i < instance.members.size() && (of.named || send || of.only_sends); ++i) {
    (of.named || send ? of.links : of.unsure).emplace(instance.members[0].rank_index, instance.members[i].rank_index);
  }
}

std::vector<int32_t> PipelineLinks::Stages(size_t ranks) const {
  Pipelines pipelines(ranks);
  for (const OfCommunicator& of : communicators_) {
    for (const auto* links : {&of.links, &of.unsure}) {
      for (const auto& [a, b] : *links) pipelines.Join(static_cast<size_t>(a), static_cast<size_t>(b));
    }
  }
  return pipelines.Stages();
}

Positions FindPositions(const RankResolution& ranks, const RunMatch& match, const PipelineLinks& links,
                        const std::optional<ParallelLayout>& layout) {
  Positions positions;
  positions.host.assign(ranks.ranks.size(), -1);
  positions.local_index.assign(ranks.ranks.size(), -1);
  positions.stage.assign(ranks.ranks.size(), -1);
  FindHosts(ranks, match, positions);
  if (!layout) {
    positions.stage = links.Stages(ranks.ranks.size());
  } else if (const auto pipeline = layout->Pipeline()) {
    for (size_t rank = 0; rank < ranks.ranks.size(); ++rank) {
      positions.stage[rank] = static_cast<int32_t>(ranks.ranks[rank].rank / pipeline->stride % pipeline->stages);
    }
  }
  return positions;
}

}  // namespace lockstep
