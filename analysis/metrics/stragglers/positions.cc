#include "analysis/metrics/stragglers/positions.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "analysis/base/disjoint_sets.h"

namespace lockstep {
namespace {

void FindHosts(const RankResolution& ranks, const MatchResult& match, Positions& positions) {
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

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Stride and size of the pipeline axis in global ranks, the first axis of `order` running fastest.
std::optional<std::pair<int64_t, int64_t>> PipelineAxis(std::string_view layout) {
  std::map<std::string_view, int64_t> sizes;
  std::vector<std::string_view> order = {"tp", "cp", "ep", "dp", "pp"};
  for (const std::string_view part : Split(layout, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view value = part.substr(equals + 1);
    if (part.substr(0, equals) == "order") {
      order = Split(value, '-');
      continue;
    }
    int64_t size = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (error != std::errc() || end != value.data() + value.size() || size < 1 || size > kMaxWorldSize) {
      return std::nullopt;
    }
    sizes[part.substr(0, equals)] = size;
  }
  int64_t stride = 1;
  for (const std::string_view axis : order) {
    const auto found = sizes.find(axis);
    const int64_t size = found == sizes.end() ? 1 : found->second;
    if (axis == "pp") return std::pair{stride, size};
    stride *= size;
    if (stride > kMaxWorldSize) return std::nullopt;
  }
  return std::nullopt;
}

bool IsPipelineName(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower == "pp" || lower.find("mesh_pp") != std::string::npos || lower.find("pipeline") != std::string::npos ||
         lower.rfind("pp_", 0) == 0 || lower.rfind("pp:", 0) == 0;
}

// Communicators whose instances are all sends and receives.
std::vector<bool> OnlySends(const MatchResult& match) {
  std::vector<bool> only(match.communicators.size(), false);
  std::vector<bool> seen(match.communicators.size(), false);
  for (const MatchedInstance& instance : match.instances) {
    const bool send = instance.op == CollectiveOp::kSend || instance.op == CollectiveOp::kRecv;
    only[instance.communicator] = send && (only[instance.communicator] || !seen[instance.communicator]);
    seen[instance.communicator] = true;
  }
  return only;
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

std::vector<int32_t> StagesOfCommunicators(const RankResolution& ranks, const MatchResult& match) {
  const std::vector<bool> only_sends = OnlySends(match);
  Pipelines pipelines(ranks.ranks.size());
  for (const MatchedInstance& instance : match.instances) {
    const Communicator& communicator = match.communicators[instance.communicator];
    const bool pipeline =
        only_sends[instance.communicator] || IsPipelineName(communicator.name) || IsPipelineName(communicator.desc);
    if (!pipeline) continue;
    for (size_t i = 1; i < instance.members.size(); ++i) {
      pipelines.Join(static_cast<size_t>(instance.members[0].rank_index),
                     static_cast<size_t>(instance.members[i].rank_index));
    }
  }
  return pipelines.Stages();
}

}  // namespace

Positions FindPositions(const RankResolution& ranks, const MatchResult& match, std::string_view layout) {
  Positions positions;
  positions.host.assign(ranks.ranks.size(), -1);
  positions.local_index.assign(ranks.ranks.size(), -1);
  positions.stage.assign(ranks.ranks.size(), -1);
  FindHosts(ranks, match, positions);
  if (layout.empty()) {
    positions.stage = StagesOfCommunicators(ranks, match);
  } else if (const auto axis = PipelineAxis(layout); axis && axis->second > 1) {
    for (size_t rank = 0; rank < ranks.ranks.size(); ++rank) {
      positions.stage[rank] = static_cast<int32_t>(ranks.ranks[rank].rank / axis->first % axis->second);
    }
  }
  return positions;
}

}  // namespace lockstep
