#include "analysis/metrics/replay/replay_peers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace lockstep {
namespace {

// Where a step of a communicator ends: its last place, with operation and bytes there.
using LastPlace = std::tuple<int32_t, CollectiveOp, int64_t>;

// The last place of most steps: a step that begins or ends outside the trace has fewer places, and one in which rows
// did not find each other has more.
class UsualLastPlace {
 public:
  void Add(int64_t step, const LastPlace& place) {
    LastPlace& last = of_step_.try_emplace(step, place).first->second;
    if (std::get<0>(place) >= std::get<0>(last)) last = place;
  }

  [[nodiscard]] LastPlace Get() const {
    std::map<LastPlace, size_t> steps;
    for (const auto& [step, last] : of_step_) ++steps[last];
    const auto most = std::max_element(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second, a.first) < std::pair(b.second, b.first);
    });
    return most == steps.end() ? LastPlace{} : most->first;
  }

 private:
  std::map<int64_t, LastPlace> of_step_;
};

// Of the members of an instance one out of each of kMostAsked equal parts, by rank: in the n-th part at the share of it
// that n times the golden ratio has after the point, a sequence that comes close to no regular one.
std::vector<bool> SpreadRanks(const MatchedInstance& instance, size_t ranks) {
  constexpr double kGoldenRatio = 0.6180339887498949;
  std::vector<bool> chosen(ranks);
  const size_t members = instance.members.size();
  for (size_t part = 0; part < ReplayPeers::kMostAsked; ++part) {
    const size_t begin = part * members / ReplayPeers::kMostAsked;
    const size_t end = (part + 1) * members / ReplayPeers::kMostAsked;
    const double share = std::fmod(static_cast<double>(part) * kGoldenRatio, 1.0);
    const size_t at = begin + static_cast<size_t>(share * static_cast<double>(end - begin));
    chosen[static_cast<size_t>(instance.members[at].rank_index)] = true;
  }
  return chosen;
}

// Communicators that do the same job: of one size, with the same operations at the same places.
using JobKey = std::pair<size_t, LastPlace>;

}  // namespace

ReplayPeers::ReplayPeers(const ReplayGraph& graph, const MatchResult& match)
    : graph_(graph),
      places_(match.communicators.size()),
      place_of_(match.instances.size()),
      like_(match.communicators.size()) {
  std::vector<UsualLastPlace> last(match.communicators.size());
  for (size_t i = 0; i < match.instances.size(); ++i) {
    const MatchedInstance& instance = match.instances[i];
    const int32_t ordinal = graph.positions[static_cast<size_t>(graph.position_of_instance[i])].ordinal;
    const auto [pair, nth] = graph.pair_places[i];
    const int32_t like_none = -1 - static_cast<int32_t>(i);
    const int32_t place = pair < 0 ? ordinal : nth < 0 ? like_none : nth;
    key_.push_back({instance.step, pair, place, static_cast<int32_t>(i)});
    places_[instance.communicator].push_back(key_.back());
    last[instance.communicator].Add(instance.step, {ordinal, instance.op, instance.bytes});
  }
  std::vector<JobKey> keys;
  std::map<JobKey, std::vector<uint32_t>> jobs;
  for (uint32_t c = 0; c < last.size(); ++c) {
    keys.emplace_back(match.communicators[c].members.size(), last[c].Get());
    jobs[keys[c]].push_back(c);
  }
  for (uint32_t c = 0; c < keys.size(); ++c) {
    for (const uint32_t other : jobs[keys[c]]) {
      if (other != c && like_[c].size() < kMost) like_[c].push_back(other);
    }
    std::sort(places_[c].begin(), places_[c].end(), [](const Place& a, const Place& b) {
      return std::tuple(a.key(), a.instance) < std::tuple(b.key(), b.instance);
    });
    for (size_t at = 0; at < places_[c].size(); ++at) {
      place_of_[static_cast<size_t>(places_[c][at].instance)] = static_cast<int32_t>(at);
    }
  }
  ChooseAsked(match);
}

void ReplayPeers::ChooseAsked(const MatchResult& match) {
  std::vector<const MatchedInstance*> widest(match.communicators.size());
  for (const MatchedInstance& instance : match.instances) {
    const MatchedInstance*& most = widest[instance.communicator];
    if (most == nullptr || instance.members.size() > most->members.size()) most = &instance;
  }
  std::vector<std::vector<bool>> chosen(widest.size());  // by communicator and rank
  for (size_t c = 0; c < widest.size(); ++c) {
    const bool wide = widest[c] != nullptr && widest[c]->members.size() > kMostAsked;
    if (wide) chosen[c] = SpreadRanks(*widest[c], graph_.first.size() - 1);
  }
  for (size_t i = 0; i < match.instances.size(); ++i) {
    const MatchedInstance& instance = match.instances[i];
    if (instance.members.size() <= kMostAsked) continue;
    std::vector<int32_t>& asked = asked_[static_cast<int32_t>(i)];
    for (size_t m = 0; m < instance.members.size(); ++m) {
      const auto rank = static_cast<size_t>(instance.members[m].rank_index);
      if (chosen[instance.communicator][rank]) asked.push_back(graph_.members[graph_.member_first[i] + m]);
    }
  }
}

int32_t ReplayPeers::AtPlace(uint32_t communicator, int32_t instance) const {
  const std::vector<Place>& places = places_[communicator];
  const auto wanted = key_[static_cast<size_t>(instance)].key();
  // Programs are mostly equal from their first place to their last, so that it stands there mostly.
  const auto guess = static_cast<size_t>(place_of_[static_cast<size_t>(instance)]);
  const bool is_there = guess < places.size() && places[guess].key() == wanted;
  if (is_there && (guess == 0 || places[guess - 1].key() != wanted)) return places[guess].instance;
  const auto at = std::lower_bound(places.begin(), places.end(), wanted,
                                   [](const Place& place, const auto& key) { return place.key() < key; });
  return at != places.end() && at->key() == wanted ? at->instance : -1;
}

std::vector<int32_t> ReplayPeers::InstancesLike(int32_t instance) const {
  std::vector<int32_t> out = {instance};
  ForEachLike(instance, [&](int32_t like) { out.push_back(like); });
  return out;
}

}  // namespace lockstep
