#include "analysis/metrics/match/join/sparse_join.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

using Places = std::vector<size_t>;  // of each slot, an index into its rows

class SparseJoiner {
 public:
  SparseJoiner(const JoinInput& input, const std::vector<TimedSlot>& slots, std::vector<TimedCluster>& clusters)
      : input_(input), slots_(slots), clusters_(clusters), cluster_of_(slots.size()) {
    std::map<size_t, size_t> slot_of_member;
    for (size_t s = 0; s < slots.size(); ++s) {
      cluster_of_[s].resize(slots[s].rows.size());
      if (!slots[s].rows.empty()) slot_of_member[slots[s].rows.front().ref.member] = s;
    }
    for (size_t c = 0; c < clusters.size(); ++c) {
      for (const RowRef& ref : clusters[c].members) {
        const size_t s = slot_of_member.at(ref.member);
        cluster_of_[s][PlaceOf(slots[s], ref)] = c;
      }
    }
  }

  void Run() {
    Places begin(slots_.size(), 0);
    bool any = false;  // of all members
    while (const std::optional<Places> end = NextComplete(begin)) {
      JoinBetween(begin, *end);
      for (size_t s = 0; s < slots_.size(); ++s) begin[s] = (*end)[s] + 1;
      any = true;
    }
    if (any) JoinBetween(begin, Ends());
    std::erase_if(clusters_, [](const TimedCluster& cluster) { return cluster.members.empty(); });
  }

 private:
  struct Cell {
    TimedRow row;
    size_t cluster = 0;
  };
  using Column = std::vector<Cell>;  // by slot

  static size_t PlaceOf(const TimedSlot& slot, const RowRef& ref) {
    const auto at = std::lower_bound(slot.rows.begin(), slot.rows.end(), ref.row,
                                     [](const TimedRow& row, uint32_t wanted) { return row.ref.row < wanted; });
    return static_cast<size_t>(at - slot.rows.begin());
  }

  // Where, from `begin` on, the next instance of all members is.
  [[nodiscard]] std::optional<Places> NextComplete(const Places& begin) const {
    const std::vector<size_t>& leading = cluster_of_.front();
    size_t at = begin.front();
    while (at < leading.size() && clusters_[leading[at]].members.size() < slots_.size()) ++at;
    if (at == leading.size()) return std::nullopt;
    Places out;
    for (size_t s = 0; s < slots_.size(); ++s) {
      const auto first = cluster_of_[s].begin() + static_cast<int64_t>(begin[s]);
      const auto own = std::find(first, cluster_of_[s].end(), leading[at]);
      if (own == cluster_of_[s].end()) return std::nullopt;
      out.push_back(static_cast<size_t>(own - cluster_of_[s].begin()));
    }
    return out;
  }

  [[nodiscard]] Places Ends() const {
    Places out;
    for (const TimedSlot& slot : slots_) out.push_back(slot.rows.size());
    return out;
  }

  void JoinBetween(const Places& begin, const Places& end) {
    const size_t count = end.front() - begin.front();
    for (size_t s = 0; s < slots_.size(); ++s) {
      if (end[s] - begin[s] != count) return;
    }
    std::vector<Column> columns(count);
    for (size_t i = 0; i < count; ++i) {
      for (size_t s = 0; s < slots_.size(); ++s) {
        columns[i].push_back({slots_[s].rows[begin[s] + i], cluster_of_[s][begin[s] + i]});
      }
      if (!RunBesideEachOther(columns[i])) return;
    }
    Replace(columns);
  }

  // Half of them or more are joined already, and all run beside some of these.
  [[nodiscard]] bool RunBesideEachOther(const Column& column) const {
    std::map<size_t, size_t> sizes;
    for (const Cell& cell : column) {
      const CollectiveRow& row = RowAt(input_, cell.row.ref);
      if (!MovesUnevenly(row.op) || !SameSignature(RowAt(input_, column.front().row.ref), row, false)) return false;
      ++sizes[cell.cluster];
    }
    const auto most =
        std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most->second < 2 || most->second * 2 < column.size()) return false;
    return std::all_of(column.begin(), column.end(), [&](const Cell& cell) {
      return std::any_of(column.begin(), column.end(), [&](const Cell& other) {
        return other.cluster == most->first && cell.row.start_ns <= other.row.end_ns &&
               other.row.start_ns <= cell.row.end_ns;
      });
    });
  }

  // The columns take the place of the pieces, which are as many or more.
  void Replace(const std::vector<Column>& columns) {
    std::set<size_t> pieces;
    for (const Column& column : columns) {
      for (const Cell& cell : column) pieces.insert(cell.cluster);
    }
    for (const size_t piece : pieces) clusters_[piece] = {};
    auto at = pieces.begin();
    for (const Column& column : columns) {
      for (const Cell& cell : column) clusters_[*at].members.push_back(cell.row.ref);
      clusters_[*at].by_order = true;
      ++at;
    }
  }

  const JoinInput& input_;
  const std::vector<TimedSlot>& slots_;
  std::vector<TimedCluster>& clusters_;
  std::vector<std::vector<size_t>> cluster_of_;  // as the rows of the slots
};

bool AnyUneven(const JoinInput& input, const TimedSlot& slot) {
  return std::any_of(slot.rows.begin(), slot.rows.end(),
                     [&](const TimedRow& row) { return MovesUnevenly(RowAt(input, row.ref).op); });
}

}  // namespace

void JoinSparse(const JoinInput& input, const std::vector<TimedSlot>& slots, std::vector<TimedCluster>& clusters) {
  if (slots.size() < 2 || !AnyUneven(input, slots.front())) return;
  SparseJoiner(input, slots, clusters).Run();
}

}  // namespace lockstep
