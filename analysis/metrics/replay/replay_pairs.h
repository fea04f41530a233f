// Sends and receives of two ranks (part of BuildReplayGraph): at which place of the program each stands, and which of
// the two sends. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/metrics/match/match.h"
#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// Fills ReplayGraph::pair_places.
void AddPairPlaces(const MatchResult& match, ReplayGraph& graph);

// Indices into MatchedInstance::members.
struct PairRole {
  size_t sender = 0;
  size_t receiver = 0;
  bool unsure = false;  // each has waited for the other one at this place, and it is not told which of them sends
};

// Whoever is early and waits for the other one receives. A sender may wait for a late receiver just as well, so where
// the operation does not tell who sends, what is waited for at the same place of most steps decides.
class PairRoles {
 public:
  // After AddPairPlaces. Of instances of two members that do not both wait for each other (IsOneWay). Both are
  // borrowed.
  PairRoles(const MatchResult& match, const ReplayGraph& graph);

  [[nodiscard]] static bool IsOneWay(const MatchedInstance& instance);
  [[nodiscard]] PairRole Of(size_t instance) const;

 private:
  using Place = std::tuple<uint32_t, int32_t, int32_t>;  // communicator, pair, n-th
  using Votes = std::array<int64_t, 2>;                  // by member: so often it waited for the other one

  [[nodiscard]] std::optional<Place> PlaceOf(size_t instance) const;
  // Who has waited for the other one clearly more often at the instance's place; null: neither has.
  [[nodiscard]] std::optional<size_t> ReceiverAtPlace(size_t instance) const;

  const MatchResult& match_;
  const ReplayGraph& graph_;
  std::map<Place, Votes> votes_;
};

}  // namespace lockstep
