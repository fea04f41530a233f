#include "analysis/metrics/replay/replay_graph.h"

#include <algorithm>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/connected_ranks.h"
#include "analysis/metrics/replay/replay_coupling.h"
#include "analysis/metrics/replay/replay_gaps.h"
#include "analysis/metrics/replay/replay_host.h"
#include "analysis/metrics/replay/replay_joins.h"
#include "analysis/metrics/replay/replay_lost.h"
#include "analysis/metrics/replay/replay_order.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// Returns which rows are AsyncRows.
std::vector<bool> AddNodesOfRank(const std::vector<ArrivalNode>& rows, const MatchResult& match, size_t rank,
                                 ReplayGraph& graph) {
  std::vector<bool> async = AsyncRows(rows, match);
  const std::vector<OwnGap> gaps = OwnGaps(rows, async);
  const auto first = static_cast<int32_t>(graph.first[rank]);
  for (size_t k = 0; k < rows.size(); ++k) {
    ReplayNode node;
    node.start_ns = rows[k].start_ns;
    node.end_ns = rows[k].end_ns;
    node.launch_ns = rows[k].launch_start_ns;
    node.device_ns = gaps[k].device_ns();
    node.host_ns = gaps[k].host_ns;
    node.compute_ns = gaps[k].compute_ns;
    node.copy_ns = gaps[k].copy_ns;
    node.instance = static_cast<int32_t>(rows[k].instance);
    node.rank = static_cast<int32_t>(rank);
    node.told = gaps[k].told;
    if (gaps[k].predecessor >= 0) node.predecessor = first + static_cast<int32_t>(gaps[k].predecessor);
    const int64_t previous = rows[k].previous;
    if (previous >= 0 && rows[static_cast<size_t>(previous)].end_ns <= node.start_ns) {
      node.serial = first + static_cast<int32_t>(previous);
    }
    graph.nodes.Make(graph.first[rank] + k, node);
  }
  return async;
}

// Returns which nodes are AsyncRows.
std::vector<bool> AddRanks(const ArrivalGraph& source, const MatchResult& match, Executor& executor,
                           ReplayGraph& graph) {
  size_t rows = 0;
  for (const std::vector<ArrivalNode>& of_rank : source.ranks) {
    graph.first.push_back(rows);
    rows += of_rank.size();
  }
  graph.first.push_back(rows);
  graph.nodes = ReplayNodes(rows);
  std::vector<std::vector<bool>> of_ranks(source.ranks.size());
  executor.ParallelFor(source.ranks.size(),
                       [&](size_t r) { of_ranks[r] = AddNodesOfRank(source.ranks[r], match, r, graph); });
  std::vector<bool> async;
  async.reserve(rows);
  for (const std::vector<bool>& own : of_ranks) async.insert(async.end(), own.begin(), own.end());
  return async;
}

// The n-th of a step as its members count: what one of them lost, or what was joined apart, shifts nobody. Transfers of
// a pair are counted together.
class OrdinalCounter {
 public:
  explicit OrdinalCounter(size_t ranks) : of_rank_(ranks) {}

  void StartOver() {
    ++round_;
    next_ = 0;
  }
  int32_t Next(const MatchedInstance& instance) {
    if (IsSendOrReceive(instance)) return next_++;
    int32_t ordinal = 0;
    for (const MatchedMember& m : instance.members) {
      const OfRank& own = of_rank_[static_cast<size_t>(m.rank_index)];
      if (own.round == round_) ordinal = std::max(ordinal, own.ordinal);
    }
    for (const MatchedMember& m : instance.members) {
      of_rank_[static_cast<size_t>(m.rank_index)] = {round_, ordinal + 1};
    }
    next_ = std::max(next_, ordinal + 1);
    return ordinal;
  }

 private:
  struct OfRank {
    int64_t round = -1;
    int32_t ordinal = 0;
  };
  std::vector<OfRank> of_rank_;
  int64_t round_ = 0;
  int32_t next_ = 0;
};

void AddPositions(const MatchResult& match, ReplayGraph& graph) {
  graph.position_of_instance.assign(match.instances.size(), -1);
  int64_t step = kNoStep;
  uint32_t communicator = UINT32_MAX;
  OrdinalCounter ordinals(graph.party.size());
  size_t base = 0;
  for (size_t i = 0; i < match.instances.size(); ++i) {  // by communicator, then index
    const MatchedInstance& instance = match.instances[i];
    if (instance.communicator != communicator) base = graph.positions.size();
    if (instance.communicator != communicator || instance.step != step) ordinals.StartOver();
    communicator = instance.communicator;
    step = instance.step;
    const int32_t ordinal = ordinals.Next(instance);
    while (base + static_cast<size_t>(ordinal) >= graph.positions.size()) {
      graph.positions.push_back({communicator, static_cast<int32_t>(graph.positions.size() - base)});
    }
    graph.position_of_instance[i] = static_cast<int32_t>(base) + ordinal;
  }
  for (ReplayNode& node : graph.nodes) {
    if (node.instance >= 0) node.position = graph.position_of_instance[static_cast<size_t>(node.instance)];
  }
}

}  // namespace

ReplayGraph BuildReplayGraph(const ArrivalGraph& source, const MatchResult& match, Executor& executor) {
  ReplayGraph graph;
  const std::vector<bool> async = AddRanks(source, match, executor, graph);
  graph.party = ConnectedRanks(match, source.ranks.size());
  AddPositions(match, graph);
  AddCoupling(match, graph);
  AddLost(source, async, match, graph);
  AddJoins(async, match, executor, graph);
  AddHost(source, async, match, executor, graph);
  AddOrder(graph);
  return graph;
}

}  // namespace lockstep
