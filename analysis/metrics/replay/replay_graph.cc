#include "analysis/metrics/replay/replay_graph.h"

#include <algorithm>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/connected_ranks.h"
#include "analysis/metrics/replay/replay_coupling.h"
#include "analysis/metrics/replay/replay_host.h"
#include "analysis/metrics/replay/replay_joins.h"
#include "analysis/metrics/replay/replay_line.h"
#include "analysis/metrics/replay/replay_lost.h"
#include "analysis/metrics/replay/replay_order.h"
#include "analysis/metrics/replay/replay_pairs.h"
#include "analysis/metrics/replay/replay_ready.h"
#include "analysis/model/record_scatter.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

void AddRanks(const ArrivalGraph& source, const MatchResult& match, Executor& executor, ReplayGraph& graph) {
  size_t rows = 0;
  for (const std::vector<ArrivalNode>& of_rank : source.ranks) {
    graph.first.push_back(rows);
    rows += of_rank.size();
  }
  graph.first.push_back(rows);
  graph.nodes = ReplayNodes(rows);
  std::vector<std::vector<ReplayJoin>> joins(source.ranks.size());
  const SharesAlone alone = MeasureAlone(source, match);
  executor.ParallelFor(source.ranks.size(),
                       [&](size_t r) { joins[r] = AddLine(source.ranks[r], match, alone, r, graph); });
  for (size_t r = 0; r < joins.size(); ++r) {
    const auto before = static_cast<int32_t>(graph.joins.size());
    for (size_t n = graph.first[r]; n < graph.first[r + 1]; ++n) graph.nodes[n].join_first += before;
    graph.joins.insert(graph.joins.end(), joins[r].begin(), joins[r].end());
  }
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

// Stages of a pipeline meet in one collective after different work: what they do before it is the same only where it
// begins after the same place of their programs, of a pair at the same end.
uint32_t PlaceBetween(const ReplayNode& before, const ReplayNode& node, const MatchResult& match,
                      const ReplayGraph& graph) {
  if (before.position < 0 || node.position < 0) return 0;
  const MatchedInstance& instance = match.instances[static_cast<size_t>(before.instance)];
  const ReplayPosition& place = graph.positions[static_cast<size_t>(before.position)];
  const bool pair = IsSendOrReceive(instance) && instance.members.size() == 2;
  const bool second = pair && instance.members.back().rank_index == node.rank;
  const bool same = place.communicator == graph.positions[static_cast<size_t>(node.position)].communicator;
  return 1 + 4 * static_cast<uint32_t>(place.ordinal) + (second ? 2 : 0) + (same ? 1 : 0);
}

// Rows that follow the same work start at one moment, and chance decides which of them is recorded first: what comes
// next begins after all of them, whoever is the last.
void AddBegins(const MatchResult& match, Executor& executor, ReplayGraph& graph) {
  executor.ParallelFor(graph.first.size() - 1, [&](size_t rank) {
    std::vector<const ReplayNode*> before;
    for (size_t n = graph.first[rank]; n < graph.first[rank + 1]; ++n) {
      ReplayNode& node = graph.nodes[n];
      for (const ReplayNode* it : before) {
        node.begins_after = std::max(node.begins_after, PlaceBetween(*it, node, match, graph));
      }
      if (node.piece != static_cast<int32_t>(n)) continue;
      if (!before.empty() && node.start_ns - before.front()->start_ns > kRecordScatterNs) before.clear();
      before.push_back(&node);
    }
  });
}

}  // namespace

ReplayGraph BuildReplayGraph(const ArrivalGraph& source, const MatchResult& match, Executor& executor) {
  ReplayGraph graph;
  AddRanks(source, match, executor, graph);
  graph.party = ConnectedRanks(match, source.ranks.size());
  AddPositions(match, graph);
  AddBegins(match, executor, graph);
  AddReadyPlaces(source, executor, graph);
  AddPairPlaces(match, graph);
  AddCoupling(match, graph);
  ShareJoins(source, executor, graph);
  AddLost(source, match, graph);
  AddHost(source, match, executor, graph);
  AddOrder(graph);
  return graph;
}

}  // namespace lockstep
