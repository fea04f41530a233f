#include "analysis/metrics/causes/host_excess.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

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

using HostOfInstance = std::unordered_map<int64_t, std::vector<int64_t>>;

// Host parts of the other members of these instances.
HostOfInstance HostOfOthers(const ArrivalGraph& graph, size_t own_rank, const std::vector<size_t>& rows) {
  HostOfInstance out;
  for (const size_t row : rows) {
    const int64_t instance = graph.ranks[own_rank][row].instance;
    if (instance >= 0) out[instance];
  }
  for (size_t r = 0; r < graph.ranks.size(); ++r) {
    if (r == own_rank) continue;
    for (const ArrivalNode& node : graph.ranks[r]) {
      if (node.segment.begin_ns == kNoTime) continue;
      const auto at = out.find(node.instance);
      if (at != out.end()) at->second.push_back(node.segment.host_ns);
    }
  }
  return out;
}

}  // namespace

HostExcess CompareHosts(const ArrivalGraph& graph, int32_t rank_index) {
  HostExcess out;
  const auto own_rank = static_cast<size_t>(rank_index);
  const std::vector<ArrivalNode>& own = graph.ranks[own_rank];
  const std::vector<size_t> rows = LongestChain(own);
  HostOfInstance others = HostOfOthers(graph, own_rank, rows);
  int64_t compared = 0;
  double excess = 0;
  double in_pauses = 0;
  for (const size_t row : rows) {
    const auto at = others.find(own[row].instance);
    if (at == others.end() || at->second.empty()) continue;
    const int64_t surplus_ns = own[row].segment.host_ns - UpperMedian(at->second);
    ++compared;
    excess += static_cast<double>(surplus_ns);
    if (surplus_ns < kHostPauseNs) continue;
    ++out.pauses;
    in_pauses += static_cast<double>(surplus_ns);
  }
  std::set<int64_t> steps;
  for (const ArrivalNode& node : own) {
    if (node.step != kNoStep) steps.insert(node.step);
  }
  out.steps = std::max<int64_t>(1, static_cast<int64_t>(steps.size()));
  out.compared = compared > 0;
  if (!out.compared) return out;
  out.per_instance_ns = excess / static_cast<double>(compared);
  if (in_pauses > 0) out.in_pauses = std::clamp(in_pauses / std::max(excess, in_pauses), 0.0, 1.0);
  return out;
}

}  // namespace lockstep
