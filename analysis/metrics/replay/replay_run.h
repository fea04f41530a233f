// Passes over a replay graph with given lengths. Pure, linear, no allocation beyond the result. Units: ns.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/metrics/replay/replay_graph.h"

namespace lockstep {

// The lengths that a replay uses instead of the measured ones; as many as nodes or instances.
struct ReplayLengths {
  std::vector<int64_t> device_ns;   // of nodes
  std::vector<int64_t> host_ns;     // of nodes: counts where the host stood blocked (anchors)
  std::vector<int64_t> earlier_ns;  // of nodes: how much sooner the host launches, counted from its anchor; of those
                                    // that follow no other, how much sooner they start
  std::vector<int64_t> transfer_cut_ns;  // of instances: how much sooner they end after the last arrival
  std::vector<int64_t> member_cut_ns;    // of nodes: the same of one member alone
  bool transfers_zero = false;
};

struct ReplayTimes {
  std::vector<int64_t> line_ns;  // when the rank's own work has come to the start of each node
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
};

// The times with the lengths as measured.
[[nodiscard]] ReplayTimes RunMeasured(const ReplayGraph& graph);

// Where what-ifs are computed one after the other: all is as measured, but for the groups of ranks that the one at hand
// moves. Made once: arrays of the run's size cost more than what most of them move.
class ReplayWorkspace {
 public:
  // Borrows both.
  ReplayWorkspace(const ReplayGraph& graph, const ReplayTimes& unchanged);

  // To be changed for the ranks of the groups that are run next, and for instances.
  [[nodiscard]] ReplayLengths& lengths() { return lengths_; }
  // The times with these lengths. Groups ascending.
  [[nodiscard]] const ReplayTimes& Run(const std::vector<size_t>& groups);
  // Makes them as measured again.
  void Restore(const std::vector<size_t>& groups);

 private:
  // Most what-ifs have nothing of most parts to idealise.
  [[nodiscard]] bool Differs(const ReplayGroup& group) const;

  const ReplayGraph& graph_;
  const ReplayTimes& unchanged_;
  ReplayLengths lengths_;
  ReplayTimes times_;
};

}  // namespace lockstep
