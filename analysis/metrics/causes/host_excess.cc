#include "analysis/metrics/causes/host_excess.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace lockstep {
namespace {

struct HostTimes {
  int64_t segments = 0;
  int64_t pauses = 0;
  double per_segment_ns = 0;
  double pause_per_segment_ns = 0;
};

// The rows of the chain (rows linked by `previous`) that has the most of them; ties: the first.
std::vector<size_t> LongestChain(const std::vector<ArrivalNode>& nodes) {
  std::vector<size_t> chain(nodes.size());
  std::map<size_t, int64_t> length;
  for (size_t row = 0; row < nodes.size(); ++row) {
    chain[row] = nodes[row].previous < 0 ? row : chain[static_cast<size_t>(nodes[row].previous)];
    if (nodes[row].segment.begin_ns != kNoTime) ++length[chain[row]];
  }
  std::vector<size_t> rows;
  if (length.empty()) return rows;
  const auto longest =
      std::max_element(length.begin(), length.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  for (size_t row = 0; row < nodes.size(); ++row) {
    if (chain[row] == longest->first && nodes[row].segment.begin_ns != kNoTime) rows.push_back(row);
  }
  return rows;
}

HostTimes TimesOf(const std::vector<ArrivalNode>& nodes) {
  HostTimes out;
  double host = 0;
  double in_pauses = 0;
  for (const size_t row : LongestChain(nodes)) {
    const int64_t ns = nodes[row].segment.host_ns;
    ++out.segments;
    host += static_cast<double>(ns);
    if (ns < kHostPauseNs) continue;
    ++out.pauses;
    in_pauses += static_cast<double>(ns);
  }
  if (out.segments == 0) return out;
  out.per_segment_ns = host / static_cast<double>(out.segments);
  out.pause_per_segment_ns = in_pauses / static_cast<double>(out.segments);
  return out;
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

}  // namespace

HostExcess CompareHosts(const ArrivalGraph& graph, int32_t rank_index) {
  HostExcess out;
  const std::vector<ArrivalNode>& own_nodes = graph.ranks[static_cast<size_t>(rank_index)];
  const HostTimes own = TimesOf(own_nodes);
  if (own.segments == 0) return out;
  std::vector<double> host;
  std::vector<double> pauses;
  for (size_t r = 0; r < graph.ranks.size(); ++r) {
    if (r == static_cast<size_t>(rank_index)) continue;
    const HostTimes peer = TimesOf(graph.ranks[r]);
    if (peer.segments == 0) continue;
    host.push_back(peer.per_segment_ns);
    pauses.push_back(peer.pause_per_segment_ns);
  }
  std::set<int64_t> steps;
  for (const ArrivalNode& node : own_nodes) {
    if (node.step != kNoStep) steps.insert(node.step);
  }
  out.compared = !host.empty();
  out.steps = std::max<int64_t>(1, static_cast<int64_t>(steps.size()));
  out.pauses = own.pauses;
  out.per_instance_ns = own.per_segment_ns - MedianOf(host);
  const double in_pauses = own.pause_per_segment_ns - MedianOf(pauses);
  if (out.per_instance_ns > 0) out.in_pauses = std::clamp(in_pauses / out.per_instance_ns, 0.0, 1.0);
  return out;
}

}  // namespace lockstep
