// Which node of a rank takes the wait for which other one, and when the rank's own work came to a place: what the waits
// of one member are told to the others by (replay_joins.h, replay_chance.h). Pure. Units: ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// A join of the node that takes it.
struct TakenJoin {
  int32_t taker = -1;
  ReplayJoin join;
};

class ReplayWaits {
 public:
  // Borrows the graph, of which joins may be changed meanwhile.
  explicit ReplayWaits(const ReplayGraph& graph);

  // The wait for node n; taker -1: there is none.
  [[nodiscard]] const TakenJoin& Of(int32_t n) const { return taken_[static_cast<size_t>(n)]; }
  void Take(int32_t n, const TakenJoin& join) { taken_[static_cast<size_t>(n)] = join; }

  // The first node of the piece behind node `after` that starts at this share of it or later; -1: none.
  [[nodiscard]] int32_t FirstAt(int32_t piece, int32_t after, float share) const;
  // When the rank's own work came to a share of the piece, not after node n; as if it did not wait for node `without`.
  [[nodiscard]] int64_t LineAt(int32_t n, float share, int32_t without = -1) const;

 private:
  const ReplayGraph& graph_;
  std::vector<TakenJoin> taken_;  // by node that is waited for
};

}  // namespace lockstep
