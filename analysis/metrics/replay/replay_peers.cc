#include "analysis/metrics/replay/replay_peers.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace lockstep {
namespace {

// Communicators that do the same job: of one size, with the same operations at the same places.
using JobKey = std::tuple<size_t, int32_t, CollectiveOp, int64_t>;

}  // namespace

ReplayPeers::ReplayPeers(const ReplayGraph& graph, const MatchResult& match)
    : graph_(graph), places_(match.communicators.size()), like_(match.communicators.size()) {
  std::vector<JobKey> keys(match.communicators.size());
  for (size_t i = 0; i < match.instances.size(); ++i) {
    const MatchedInstance& instance = match.instances[i];
    const int32_t ordinal = graph.positions[static_cast<size_t>(graph.position_of_instance[i])].ordinal;
    const auto [pair, nth] = graph.pair_places[i];
    const int32_t like_none = -1 - static_cast<int32_t>(i);
    const int32_t place = pair < 0 ? ordinal : nth < 0 ? like_none : nth;
    key_.push_back({instance.step, pair, place, static_cast<int32_t>(i)});
    places_[instance.communicator].push_back(key_.back());
    JobKey& key = keys[instance.communicator];
    if (ordinal >= std::get<1>(key)) {
      key = {match.communicators[instance.communicator].members.size(), ordinal, instance.op, instance.bytes};
    }
  }
  std::map<JobKey, std::vector<uint32_t>> jobs;
  for (uint32_t c = 0; c < keys.size(); ++c) jobs[keys[c]].push_back(c);
  for (uint32_t c = 0; c < keys.size(); ++c) {
    for (const uint32_t other : jobs[keys[c]]) {
      if (other != c && like_[c].size() < kMost) like_[c].push_back(other);
    }
    std::sort(places_[c].begin(), places_[c].end(), [](const Place& a, const Place& b) {
      return std::tuple(a.key(), a.instance) < std::tuple(b.key(), b.instance);
    });
  }
}

std::vector<int32_t> ReplayPeers::InstancesLike(int32_t instance) const {
  std::vector<int32_t> out = {instance};
  const ReplayPosition& position =
      graph_.positions[static_cast<size_t>(graph_.position_of_instance[static_cast<size_t>(instance)])];
  const Place& wanted = key_[static_cast<size_t>(instance)];
  for (const uint32_t c : like_[position.communicator]) {
    const auto at = std::lower_bound(places_[c].begin(), places_[c].end(), wanted,
                                     [](const Place& a, const Place& b) { return a.key() < b.key(); });
    if (at != places_[c].end() && at->key() == wanted.key()) out.push_back(at->instance);
  }
  return out;
}

}  // namespace lockstep
