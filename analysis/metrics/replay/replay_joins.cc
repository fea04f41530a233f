#include "analysis/metrics/replay/replay_joins.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/metrics/replay/replay_chance.h"
#include "analysis/metrics/replay/replay_waits.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// Where in its rank's program a node stands: the n-th of a communicator, or of a pair in it, in its step.
using Place = std::tuple<uint32_t, int32_t, int32_t>;  // communicator, pair or -1, n-th

// Numbers of steps may be anything: they count round.
uint64_t StepsOn(int64_t from, int64_t to) { return static_cast<uint64_t>(to) - static_cast<uint64_t>(from); }
int64_t StepOn(int64_t step, uint64_t steps_on) { return static_cast<int64_t>(static_cast<uint64_t>(step) + steps_on); }

class JoinSharer {
 public:
  JoinSharer(const ArrivalGraph& source, ReplayGraph& graph, ReplayWaits& waits)
      : source_(source), graph_(graph), waits_(waits) {}

  void Run(Executor& executor) {
    for (size_t i = 0; i + 1 < graph_.member_first.size(); ++i) Instance(i);
    std::vector<std::vector<TakenJoin>> of_ranks(source_.ranks.size());
    executor.ParallelFor(of_ranks.size(), [&](size_t r) { of_ranks[r] = Steps(r); });
    for (const std::vector<TakenJoin>& of_rank : of_ranks) added_.insert(added_.end(), of_rank.begin(), of_rank.end());
    if (!added_.empty()) Merge();
  }

 private:
  void Instance(size_t instance) {
    const size_t begin = graph_.member_first[instance];
    const size_t end = graph_.member_first[instance + 1];
    const TakenJoin* first = nullptr;
    bool all = true;
    for (size_t m = begin; m < end; ++m) {
      const TakenJoin& join = waits_.Of(graph_.members[m]);
      if (join.taker < 0) all = false;
      if (join.taker >= 0 && first == nullptr) first = &join;
    }
    if (first == nullptr || all) return;
    const TakenJoin shown = *first;
    for (size_t m = begin; m < end; ++m) {
      if (waits_.Of(graph_.members[m]).taker < 0) AddAs(shown, graph_.members[m]);
    }
  }

  // The member's wait for its node `joined` at the place where another one was seen to wait.
  void AddAs(const TakenJoin& shown, int32_t joined) {
    const ReplayNode& piece = graph_.node(graph_.node(shown.taker).piece);
    if (piece.instance < 0) return;
    Add(joined, NodeIn(piece.instance, graph_.node(joined).rank), shown.join.at_share, added_);
  }

  // The wait for node `joined` at a share of the piece that node `piece` of the rank ends, unless the work had come
  // there before.
  void Add(int32_t joined, int32_t piece, float at_share, std::vector<TakenJoin>& added) {
    if (piece <= joined || graph_.node(piece).piece != piece) return;
    const int32_t taker = waits_.FirstAt(piece, joined, at_share);
    if (taker < 0 || waits_.LineAt(taker, at_share) < graph_.node(joined).end_ns) return;
    added.push_back({taker, {joined, at_share}});
    waits_.Take(joined, added.back());
  }

  // What a rank's work waited for at a place, in several of its steps: where.
  struct Usual {
    Place piece;            // that ends there
    uint64_t steps_on = 0;  // in a later step
    float at_share = 0;
    int64_t seen = 0;
    int64_t steps = 0;  // that have the place
  };

  // The waits of a rank in some of its steps are waits in the others, too.
  std::vector<TakenJoin> Steps(size_t rank) {
    const size_t rows = source_.ranks[rank].size();
    std::map<Place, Usual> usual;  // of places at which some step shows no wait
    for (size_t k = 0; k < rows; ++k) {
      const std::optional<Place> place = PlaceOf(rank, k);
      if (place && !Waits(rank, k)) usual.try_emplace(*place);
    }
    std::vector<TakenJoin> added;
    if (usual.empty()) return added;
    for (size_t k = 0; k < rows; ++k) {
      const std::optional<Place> place = PlaceOf(rank, k);
      const auto found = place ? usual.find(*place) : usual.end();
      if (found != usual.end()) See(rank, k, found->second);
    }
    for (size_t k = 0; k < rows; ++k) {
      const std::optional<Place> place = PlaceOf(rank, k);
      if (!place || Waits(rank, k)) continue;
      const Usual& wait = usual.at(*place);
      const int32_t piece = IsUsual(wait) ? FindFrom(rank, k, wait) : -1;
      if (piece >= 0) Add(NodeOf(rank, k), piece, wait.at_share, added);
    }
    return added;
  }

  // Null where it is not known.
  [[nodiscard]] std::optional<Place> PlaceOf(size_t rank, size_t row) const {
    const ArrivalNode& node = source_.ranks[rank][row];
    if (node.instance < 0 || node.step == kNoStep) return std::nullopt;
    const auto instance = static_cast<size_t>(node.instance);
    const ReplayPosition& position = graph_.positions[static_cast<size_t>(graph_.position_of_instance[instance])];
    const auto [pair, nth] = graph_.pair_places[instance];
    if (pair < 0) return Place(position.communicator, -1, position.ordinal);
    return nth < 0 ? std::nullopt : std::optional(Place(position.communicator, pair, nth));
  }

  [[nodiscard]] int32_t NodeOf(size_t rank, size_t row) const { return static_cast<int32_t>(graph_.first[rank] + row); }
  [[nodiscard]] bool Waits(size_t rank, size_t row) const { return waits_.Of(NodeOf(rank, row)).taker >= 0; }

  void See(size_t rank, size_t row, Usual& usual) const {
    ++usual.steps;
    const TakenJoin& join = waits_.Of(NodeOf(rank, row));
    if (join.taker < 0) return;
    const auto piece = static_cast<size_t>(graph_.node(join.taker).piece) - graph_.first[rank];
    const std::optional<Place> place = PlaceOf(rank, piece);
    if (!place) return;
    const std::vector<ArrivalNode>& rows = source_.ranks[rank];
    const uint64_t steps_on = StepsOn(rows[row].step, rows[piece].step);
    if (usual.seen == 0) {
      usual.piece = *place;
      usual.steps_on = steps_on;
      usual.at_share = join.join.at_share;
    }
    if (usual.piece == *place && usual.steps_on == steps_on) ++usual.seen;
  }

  [[nodiscard]] static bool IsUsual(const Usual& usual) {
    constexpr int64_t kMoreThanOnce = 2;
    constexpr int64_t kSeenOneIn = 8;
    return usual.seen >= kMoreThanOnce && usual.seen * kSeenOneIn >= usual.steps;
  }

  // The node behind row `row` that ends the piece in which the wait is; -1: it is not there.
  [[nodiscard]] int32_t FindFrom(size_t rank, size_t row, const Usual& wait) const {
    constexpr uint64_t kMostStepsOn = 4;  // that a wait comes after its kernel
    const std::vector<ArrivalNode>& rows = source_.ranks[rank];
    const int64_t step = StepOn(rows[row].step, wait.steps_on);
    const uint64_t most_on = std::min(wait.steps_on, kMostStepsOn);
    int64_t now = rows[row].step;
    uint64_t steps_on = 0;  // as they come
    for (size_t k = row + 1; k < rows.size() && steps_on <= most_on; ++k) {
      const std::optional<Place> place = PlaceOf(rank, k);
      if (!place) continue;
      if (rows[k].step == step && *place == wait.piece) return NodeOf(rank, k);
      if (rows[k].step != now) ++steps_on;
      now = rows[k].step;
    }
    return -1;
  }

  // Of a rank in an instance, whose members are in order of rank; -1: none.
  [[nodiscard]] int32_t NodeIn(int32_t instance, int32_t rank) const {
    const auto at = static_cast<size_t>(instance);
    const auto begin = graph_.members.begin() + static_cast<int64_t>(graph_.member_first[at]);
    const auto end = graph_.members.begin() + static_cast<int64_t>(graph_.member_first[at + 1]);
    const auto found = std::lower_bound(
        begin, end, rank, [&](int32_t member, int32_t wanted) { return graph_.node(member).rank < wanted; });
    return found == end || graph_.node(*found).rank != rank ? -1 : *found;
  }

  void Merge() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const ReplayNode& node = graph_.nodes[n];
      for (int32_t j = node.join_first; j < node.join_first + node.join_count; ++j) {
        added_.push_back({static_cast<int32_t>(n), graph_.joins[static_cast<size_t>(j)]});
      }
    }
    std::stable_sort(added_.begin(), added_.end(), [](const TakenJoin& a, const TakenJoin& b) {
      return std::pair(a.taker, a.join.at_share) < std::pair(b.taker, b.join.at_share);
    });
    graph_.joins.clear();
    for (ReplayNode& node : graph_.nodes) node.join_count = 0;
    for (const TakenJoin& added : added_) {
      ReplayNode& taker = graph_.nodes[static_cast<size_t>(added.taker)];
      if (taker.join_count++ == 0) taker.join_first = static_cast<int32_t>(graph_.joins.size());
      graph_.joins.push_back(added.join);
    }
  }

  const ArrivalGraph& source_;
  ReplayGraph& graph_;
  ReplayWaits& waits_;
  std::vector<TakenJoin> added_;
};

}  // namespace

void ShareJoins(const ArrivalGraph& source, Executor& executor, ReplayGraph& graph) {
  ReplayWaits waits(graph);
  DropChanceJoins(graph, waits);
  JoinSharer(source, graph, waits).Run(executor);
}

}  // namespace lockstep
