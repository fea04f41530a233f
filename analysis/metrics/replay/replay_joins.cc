#include "analysis/metrics/replay/replay_joins.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/model/record_scatter.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// A join of the node that takes it.
struct TakenJoin {
  int32_t taker = -1;
  ReplayJoin join;
};

// Where in its rank's program a node stands: the n-th of a communicator, or of a pair in it, in its step.
using Place = std::tuple<uint32_t, int32_t, int32_t>;  // communicator, pair or -1, n-th

// Numbers of steps may be anything: they count round.
uint64_t StepsOn(int64_t from, int64_t to) { return static_cast<uint64_t>(to) - static_cast<uint64_t>(from); }
int64_t StepOn(int64_t step, uint64_t steps_on) { return static_cast<int64_t>(static_cast<uint64_t>(step) + steps_on); }

class JoinSharer {
 public:
  JoinSharer(const ArrivalGraph& source, ReplayGraph& graph)
      : source_(source), graph_(graph), joined_by_(graph.nodes.size()) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const ReplayNode& node = graph.nodes[n];
      for (int32_t j = node.join_first; j < node.join_first + node.join_count; ++j) {
        const ReplayJoin& join = graph.joins[static_cast<size_t>(j)];
        joined_by_[static_cast<size_t>(join.node)] = {static_cast<int32_t>(n), join};
      }
    }
  }

  void Run(Executor& executor) {
    for (size_t i = 0; i + 1 < graph_.member_first.size(); ++i) DropChance(i);
    for (size_t i = 0; i + 1 < graph_.member_first.size(); ++i) Instance(i);
    std::vector<std::vector<TakenJoin>> of_ranks(source_.ranks.size());
    executor.ParallelFor(of_ranks.size(), [&](size_t r) { of_ranks[r] = Steps(r); });
    for (const std::vector<TakenJoin>& of_rank : of_ranks) added_.insert(added_.end(), of_rank.begin(), of_rank.end());
    if (!added_.empty()) Merge();
  }

 private:
  [[nodiscard]] const TakenJoin& JoinOf(int32_t n) const { return joined_by_[static_cast<size_t>(n)]; }

  // That a row ends where the work goes on anyhow, because another row ended there or a kernel did, is chance if
  // another member's work had passed that place before the end.
  void DropChance(size_t instance) {
    constexpr size_t kMostAsked = 4;
    std::vector<int32_t> joined;
    std::vector<int32_t> others;
    for (size_t m = graph_.member_first[instance]; m < graph_.member_first[instance + 1]; ++m) {
      const int32_t member = graph_.members[m];
      if (JoinOf(member).taker >= 0) {
        joined.push_back(member);
      } else if (others.size() < kMostAsked) {
        others.push_back(member);
      }
    }
    if (others.empty()) return;
    for (const int32_t n : joined) {
      const auto passed = [&](int32_t other) { return PassedBeforeTheEnd(JoinOf(n), other); };
      if (std::any_of(others.begin(), others.end(), passed)) DropIfItGoesOnAnyhow(n);
    }
  }

  // If another row ended there, the wait is for that one. If without this wait the work had come there as late, or
  // nearly so, it is for a row that ended long before.
  void DropIfItGoesOnAnyhow(int32_t joined) {
    const TakenJoin wait = JoinOf(joined);
    const int64_t end_ns = graph_.node(joined).end_ns;
    const ReplayNode& taker = graph_.node(wait.taker);
    const auto first = static_cast<size_t>(taker.join_first);
    const size_t end = first + static_cast<size_t>(taker.join_count);
    int32_t instead = -1;
    for (size_t j = first == 0 ? 0 : first - 1; j < std::min(end + 1, graph_.joins.size()); ++j) {
      const int32_t other = graph_.joins[j].node;
      const ReplayNode& node = graph_.node(other);
      const bool at_once = node.rank == taker.rank && std::abs(node.end_ns - end_ns) <= kRecordScatterNs;
      if (other != joined && other < wait.taker && at_once) instead = other;  // what starts later is not waited for
    }
    const bool as_late = LineAt(wait.taker, wait.join.at_share, joined) + kRecordScatterNs >= end_ns;
    if (instead < 0 && as_late) instead = static_cast<int32_t>(graph_.first[static_cast<size_t>(taker.rank)]);
    if (instead < 0) return;
    for (size_t j = first; j < end; ++j) {
      if (graph_.joins[j].node == joined) graph_.joins[j].node = instead;
    }
    joined_by_[static_cast<size_t>(joined)] = {};
  }

  // Whether the work of the member had passed the place where another one was seen to wait.
  [[nodiscard]] bool PassedBeforeTheEnd(const TakenJoin& shown, int32_t member) const {
    const int32_t piece = PieceLike(shown, member);
    const int32_t taker = piece < 0 ? -1 : FirstAt(piece, member, shown.join.at_share);
    return taker >= 0 && LineAt(taker, shown.join.at_share) + kRecordScatterNs < graph_.node(member).end_ns;
  }

  // The node that ends the piece of the member in which it would wait as shown: the next one that ends a piece at the
  // same place of its communicator, which is the one of the row that is waited for, or another one, in both. -1: none.
  [[nodiscard]] int32_t PieceLike(const TakenJoin& shown, int32_t member) const {
    constexpr int kMostPieces = 8;
    const ReplayPosition place = PositionOf(graph_.node(shown.taker).piece);
    const bool same = place.communicator == PositionOf(shown.join.node).communicator;
    const auto end = static_cast<int32_t>(graph_.first[static_cast<size_t>(graph_.node(member).rank) + 1]);
    int pieces = 0;
    for (int32_t n = member + 1; n < end && pieces < kMostPieces; ++n) {
      if (graph_.node(n).piece != n) continue;
      ++pieces;
      const ReplayPosition its = PositionOf(n);
      if (its.ordinal == place.ordinal && (its.communicator == PositionOf(member).communicator) == same) return n;
    }
    return -1;
  }

  // Of no position: ordinal -1.
  [[nodiscard]] ReplayPosition PositionOf(int32_t n) const {
    const int32_t position = graph_.node(n).position;
    return position < 0 ? ReplayPosition{.communicator = 0, .ordinal = -1}
                        : graph_.positions[static_cast<size_t>(position)];
  }

  void Instance(size_t instance) {
    const size_t begin = graph_.member_first[instance];
    const size_t end = graph_.member_first[instance + 1];
    const TakenJoin* first = nullptr;
    bool all = true;
    for (size_t m = begin; m < end; ++m) {
      const TakenJoin& join = JoinOf(graph_.members[m]);
      if (join.taker < 0) all = false;
      if (join.taker >= 0 && first == nullptr) first = &join;
    }
    if (first == nullptr || all) return;
    const TakenJoin shown = *first;
    for (size_t m = begin; m < end; ++m) {
      if (JoinOf(graph_.members[m]).taker < 0) AddAs(shown, graph_.members[m]);
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
    const int32_t taker = FirstAt(piece, joined, at_share);
    if (taker < 0 || LineAt(taker, at_share) < graph_.node(joined).end_ns) return;
    added.push_back({taker, {joined, at_share}});
    joined_by_[static_cast<size_t>(joined)] = added.back();
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
  [[nodiscard]] bool Waits(size_t rank, size_t row) const { return JoinOf(NodeOf(rank, row)).taker >= 0; }

  void See(size_t rank, size_t row, Usual& usual) const {
    ++usual.steps;
    const TakenJoin& join = JoinOf(NodeOf(rank, row));
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

  // The first node of the piece behind node `after` that starts at this share of it or later; -1: none.
  [[nodiscard]] int32_t FirstAt(int32_t piece, int32_t after, float share) const {
    int32_t found = -1;
    for (int32_t n = piece; n > after && graph_.node(n).piece == piece && graph_.node(n).at_share >= share; --n) {
      found = n;
    }
    return found;
  }

  // When the rank's own work came to a share of the piece, not after node n; as if it did not wait for node `without`.
  [[nodiscard]] int64_t LineAt(int32_t n, float share, int32_t without = -1) const {
    const ReplayNode& node = graph_.node(n);
    const ReplayNode& before = graph_.node(n - 1);
    const ReplayNode& piece = graph_.node(node.piece);
    const int64_t piece_ns = piece.device_ns + piece.host_ns;
    int64_t line_ns = before.line_ns;
    int64_t done_ns = before.piece == node.piece ? WorkAtShare(piece_ns, before.at_share) : 0;
    for (int32_t j = node.join_first; j < node.join_first + node.join_count; ++j) {
      const ReplayJoin& join = graph_.joins[static_cast<size_t>(j)];
      if (join.at_share > share) break;
      if (join.node == without) continue;
      const int64_t at_ns = WorkAtShare(piece_ns, join.at_share);
      line_ns = std::max(line_ns + at_ns - done_ns, graph_.node(join.node).end_ns);
      done_ns = at_ns;
    }
    return line_ns + WorkAtShare(piece_ns, share) - done_ns;
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
  std::vector<TakenJoin> joined_by_;  // by node
  std::vector<TakenJoin> added_;
};

}  // namespace

void ShareJoins(const ArrivalGraph& source, Executor& executor, ReplayGraph& graph) {
  JoinSharer(source, graph).Run(executor);
}

}  // namespace lockstep
