#include "cli/timeline/kernel_ranks.h"

#include <algorithm>
#include <set>

namespace lockstep {
namespace {

// Appends places in their order, each once.
class PlaceList {
 public:
  void Add(uint32_t place) {
    if (seen_.insert(place).second) places_.push_back(place);
  }
  [[nodiscard]] size_t size() const { return places_.size(); }
  [[nodiscard]] std::vector<uint32_t> Take() { return std::move(places_); }

 private:
  std::vector<uint32_t> places_;
  std::set<uint32_t> seen_;
};

}  // namespace

std::vector<uint32_t> KernelRanks(const RunEvents& events, const NamedRanks& named, KernelsWanted wanted) {
  if (wanted == KernelsWanted::kNone) return {};
  std::map<int32_t, uint32_t> place_of_rank;
  for (size_t i = 0; i < events.places.size(); ++i) {
    if (events.places[i] != kNoId) place_of_rank.emplace(events.ranks.ranks[i].rank, events.places[i]);
  }
  const bool all = wanted == KernelsWanted::kAll || place_of_rank.size() <= kFewRanks;
  PlaceList list;
  for (const int32_t rank : named.ranks) {
    const auto found = place_of_rank.find(rank);
    if (found != place_of_rank.end() && (all || list.size() < kFewRanks)) list.Add(found->second);
  }
  for (const int32_t rank : named.ranks) {
    const auto found = place_of_rank.find(rank);
    if (found == place_of_rank.end()) continue;
    std::vector<uint32_t> peers = events.PeersOf(found->second);
    if (!all && peers.size() > kPeersOfNamed) peers.resize(kPeersOfNamed);
    for (const uint32_t peer : peers) {
      if (all || list.size() < kFewRanks) list.Add(peer);
    }
    if (!all && list.size() >= kFewRanks) break;
  }
  for (const auto& [rank, place] : place_of_rank) {
    if (all || (named.ranks.empty() && list.size() <= kPeersOfNamed)) list.Add(place);
  }
  return list.Take();
}

size_t FittingRanks(const std::vector<uint32_t>& places, const std::vector<int64_t>& events_of_place,
                    int64_t most_events) {
  int64_t sum = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    sum += events_of_place[places[i]];
    if (sum > most_events) return std::max<size_t>(1, i);
  }
  return places.size();
}

}  // namespace lockstep
