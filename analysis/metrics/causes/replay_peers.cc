#include "analysis/metrics/causes/replay_peers.h"

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
    one_to_one_.push_back(instance.members.size() <= 2 && IsPointToPoint(instance.op));
    step_.push_back(instance.step);
    places_[instance.communicator].push_back({instance.step, ordinal, static_cast<int32_t>(i)});
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
      return std::tie(a.step, a.ordinal, a.instance) < std::tie(b.step, b.ordinal, b.instance);
    });
  }
}

std::vector<int32_t> ReplayPeers::InstancesLike(int32_t instance) const {
  std::vector<int32_t> out = {instance};
  const ReplayPosition& position =
      graph_.positions[static_cast<size_t>(graph_.position_of_instance[static_cast<size_t>(instance)])];
  const Place wanted{step_[static_cast<size_t>(instance)], position.ordinal, 0};
  for (const uint32_t c : like_[position.communicator]) {
    const auto at = std::lower_bound(places_[c].begin(), places_[c].end(), wanted, [](const Place& a, const Place& b) {
      return std::tie(a.step, a.ordinal) < std::tie(b.step, b.ordinal);
    });
    if (at != places_[c].end() && at->step == wanted.step && at->ordinal == wanted.ordinal) out.push_back(at->instance);
  }
  return out;
}

}  // namespace lockstep
