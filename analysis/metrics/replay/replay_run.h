// One pass over a replay graph with given lengths. Pure, linear, no allocation beyond the result. Units: ns.
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
                                    // without predecessor, how much sooner they start
  std::vector<int64_t> transfer_cut_ns;  // of instances: how much sooner they end after the last arrival
  std::vector<int64_t> member_cut_ns;    // of nodes: the same of one member alone
  bool transfers_zero = false;

  friend bool operator==(const ReplayLengths&, const ReplayLengths&) = default;
};

struct ReplayTimes {
  std::vector<int64_t> start_ns;
  std::vector<int64_t> end_ns;
};

[[nodiscard]] ReplayLengths MeasuredLengths(const ReplayGraph& graph);
[[nodiscard]] ReplayTimes RunReplay(const ReplayGraph& graph, const ReplayLengths& lengths);

}  // namespace lockstep
