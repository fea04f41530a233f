#include "analysis/metrics/match/join/clock_join.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "analysis/metrics/match/join/gap_join.h"
#include "analysis/metrics/match/join/sparse_join.h"
#include "analysis/metrics/match/join/timed_join.h"
#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kMinUncertaintyNs = 15'000;
// A communicator that is told, or that its lanes have shown, may lack half of a rank: a burst of records that was lost
// must not cost the others.
constexpr double kMinTimedCoverage = 0.4;
constexpr int64_t kMinJoined = 3;
constexpr size_t kFewGaps = 3;  // with one pattern: equal losses do not repeat so often

// The members that lie in the largest clock component.
std::vector<size_t> ComparableMembers(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows) {
  std::map<int32_t, std::vector<size_t>> by_component;
  for (size_t m = 0; m < rows.size(); ++m) {
    if (!rows[m].empty()) by_component[input.clock.ComponentOf(input.plan.ranks[m])].push_back(m);
  }
  std::vector<size_t> largest;
  for (auto& [component, members] : by_component) {
    if (members.size() > largest.size()) largest = std::move(members);
  }
  return largest;
}

// How far the clock of a rank may be off against the first of them.
int64_t UncertaintyOf(const JoinInput& input, int32_t first, int32_t rank, int64_t at_ns) {
  if (first == rank || input.domain[static_cast<size_t>(first)] == input.domain[static_cast<size_t>(rank)]) {
    return kInDomainUncertaintyNs;
  }
  const auto told = input.clock.PairUncertainty(first, rank, AlignedTime{at_ns});
  return std::max(kMinUncertaintyNs, told ? told->ns : INT64_MAX / 2);
}

class ClockJoiner {
 public:
  ClockJoiner(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows)
      : input_(input), rows_(rows), members_(ComparableMembers(input, rows)) {}

  std::optional<CommunicatorJoin> Run() {
    if (members_.size() < 2 || (inferred() && members_.size() < rows_.size())) return std::nullopt;
    std::vector<TimedSlot> slots;
    for (const size_t m : members_) slots.push_back(SlotOf(m));
    if (!ClocksDecide(slots)) return std::nullopt;
    TimedJoin joined = JoinByTime(input_, slots);
    if (!Convinces(joined)) return std::nullopt;
    confidence_ = 1 - std::exp(-joined.exponent);
    JoinSparse(input_, slots, joined.clusters);
    for (const TimedCluster& cluster : joined.clusters) {
      AddAnchor(cluster.members);
      Add(cluster.members, cluster.confidence);
      out_.instances.back().by_order = cluster.by_order;
    }
    JoinRooted();
    AddIncomparable();
    return std::move(out_);
  }

 private:
  struct Anchor {
    uint32_t row = 0;
    int64_t number = 0;
  };

  [[nodiscard]] bool inferred() const { return input_.plan.membership != Membership::kKnown; }
  // Operations whose kernels end together.
  [[nodiscard]] bool Binds(const RowRef& ref) const { return MayBeAllPairs(RowAt(input_, ref).op); }

  [[nodiscard]] TimedSlot SlotOf(size_t member) const {
    const int32_t rank = input_.plan.ranks[member];
    TimedSlot slot;
    slot.tick_ns = input_.rows[static_cast<size_t>(rank)].tick_ns;
    const bool one_clock = std::all_of(members_.begin(), members_.end(), [&](size_t m) {
      return input_.domain[static_cast<size_t>(input_.plan.ranks[m])] == input_.domain[static_cast<size_t>(rank)];
    });
    for (const RowRef& ref : rows_[member]) {
      if (!Binds(ref)) continue;
      const CollectiveRow& row = RowAt(input_, ref);
      // Without the device's bias: the join measures that itself, and nothing it got wrong comes back to it.
      const LocalTime at{row.start_ns};
      const int64_t correction = one_clock ? 0 : input_.clock.Correction(rank, at).ns - input_.clock.BiasOf(rank, at);
      slot.rows.push_back({row.start_ns - correction, row.end_ns - correction, ref});
    }
    const int64_t middle = slot.rows.empty() ? 0 : slot.rows[slot.rows.size() / 2].start_ns;
    slot.uncertainty_ns = UncertaintyOf(input_, input_.plan.ranks[members_.front()], rank, middle);
    return slot;
  }

  // Clocks that may be off by half the distance of two instances cannot tell one from the other.
  [[nodiscard]] static bool ClocksDecide(const std::vector<TimedSlot>& slots) {
    int64_t uncertainty = 0;
    for (const TimedSlot& slot : slots) uncertainty = std::max(uncertainty, slot.uncertainty_ns);
    return uncertainty <= kInDomainUncertaintyNs || uncertainty <= SpacingOf(slots) / 2;
  }

  [[nodiscard]] bool Convinces(const TimedJoin& joined) const {
    return joined.joined >= kMinJoined && joined.exponent >= kMinExponent && joined.coverage >= kMinTimedCoverage;
  }

  void Add(const std::vector<RowRef>& members, double confidence) {
    const bool matched = members.size() > 1;
    const MatchKind kind = inferred() ? MatchKind::kInferred : MatchKind::kOrder;
    const double total = std::min(confidence, confidence_);
    out_.instances.push_back(MakeInstance(input_, members, matched ? kind : MatchKind::kNone, matched ? total : 0));
  }

  [[nodiscard]] TimedRow Aligned(const RowRef& ref) const {
    const CollectiveRow& row = RowAt(input_, ref);
    const int64_t correction = input_.clock.Correction(input_.plan.ranks[ref.member], LocalTime{row.start_ns}).ns;
    return {row.start_ns - correction, row.end_ns - correction, ref};
  }

  // Clusters come in order of time.
  void AddAnchor(const std::vector<RowRef>& members) {
    std::vector<int64_t> ends;
    for (const RowRef& ref : members) {
      anchors_[ref.member].push_back({ref.row, static_cast<int64_t>(anchor_ends_.size())});
      ends.push_back(Aligned(ref).end_ns);
    }
    anchor_ends_.push_back(UpperMedian(std::move(ends)));
  }

  // Number of the last anchor before a row: by order among those its rank has, by time among those it has lost.
  [[nodiscard]] int64_t AnchorBefore(const std::vector<Anchor>& anchors, const RowRef& ref) const {
    const auto after = std::upper_bound(anchors.begin(), anchors.end(), ref.row,
                                        [](uint32_t row, const Anchor& a) { return row < a.row; });
    int64_t before = after == anchors.begin() ? -1 : std::prev(after)->number;
    const int64_t next = after == anchors.end() ? static_cast<int64_t>(anchor_ends_.size()) : after->number;
    const int64_t end = Aligned(ref).end_ns;
    while (before + 1 < next && anchor_ends_[static_cast<size_t>(before + 1)] <= end) ++before;
    return before;
  }

  // Rows of operations whose ends need not coincide, between the anchors before and after them: joined in order where
  // all ranks have equally many of the same kinds there, else as their times allow.
  void JoinRooted() {
    std::map<int64_t, std::map<size_t, std::vector<RowRef>>> gaps;  // by number of the anchor before
    for (const size_t m : members_) {
      auto& anchors = anchors_[m];
      std::sort(anchors.begin(), anchors.end(), [](const Anchor& a, const Anchor& b) { return a.row < b.row; });
      for (const RowRef& ref : rows_[m]) {
        if (!Binds(ref)) gaps[AnchorBefore(anchors, ref)][m].push_back(ref);
      }
    }
    for (const auto& [before, by_member] : gaps) {
      for (const auto& [member, refs] : by_member) AddRepeated(input_, refs, repeated_);
    }
    std::map<std::vector<GapSignature>, size_t> alike;
    for (const auto& [before, by_member] : gaps) {
      if (IsClosed(before) && HoldsAlike(by_member)) ++alike[PatternOf(by_member)];
    }
    for (const auto& [before, by_member] : gaps) {
      const bool whole = IsClosed(before) && HoldsAlike(by_member);
      // What comes again and again has lost nothing; equally many lost rows would have to be the same every time.
      if (whole && (alike[PatternOf(by_member)] >= kFewGaps || EndsKeepOrder(by_member))) {
        JoinWholeGap(by_member);
      } else {
        JoinBrokenGap(by_member);
      }
    }
  }

  [[nodiscard]] std::vector<GapSignature> PatternOf(const std::map<size_t, std::vector<RowRef>>& by_member) const {
    std::vector<GapSignature> out;
    for (const RowRef& ref : by_member.begin()->second) out.push_back(GapSignatureOf(RowAt(input_, ref)));
    return out;
  }

  [[nodiscard]] bool IsClosed(int64_t before) const {
    return before >= 0 && before + 1 < static_cast<int64_t>(anchor_ends_.size());
  }

  // All ranks have rows of the same operations in the same order.
  [[nodiscard]] bool HoldsAlike(const std::map<size_t, std::vector<RowRef>>& by_member) const {
    const std::vector<RowRef>& first = by_member.begin()->second;
    return by_member.size() == members_.size() &&
           std::all_of(by_member.begin(), by_member.end(), [&](const auto& of_member) {
             return std::equal(first.begin(), first.end(), of_member.second.begin(), of_member.second.end(),
                               [&](const RowRef& a, const RowRef& b) {
                                 return SameSignature(RowAt(input_, a), RowAt(input_, b), false);
                               });
           });
  }

  void JoinWholeGap(const std::map<size_t, std::vector<RowRef>>& by_member) {
    for (size_t i = 0; i < by_member.begin()->second.size(); ++i) {
      std::vector<RowRef> members;
      for (const auto& [member, refs] : by_member) members.push_back(refs[i]);
      Add(members, 1);
    }
  }

  // Ranks that have lost equally many, but not the same, have rows that end with none of the others'.
  [[nodiscard]] bool EndsKeepOrder(const std::map<size_t, std::vector<RowRef>>& by_member) const {
    const std::vector<RowRef>& first = by_member.begin()->second;
    for (size_t i = 0; i < first.size(); ++i) {
      std::vector<TimedRow> column;
      for (const auto& [member, refs] : by_member) column.push_back(Aligned(refs[i]));
      if (IsRepeated(RowAt(input_, first[i]), repeated_) && !EndTogether(column)) return false;
    }
    return true;
  }

  void JoinBrokenGap(const std::map<size_t, std::vector<RowRef>>& by_member) {
    // Who the members are must be told: ends that need not coincide prove no membership.
    const bool known = input_.plan.membership == Membership::kKnown;
    std::vector<std::vector<TimedRow>> rows;
    for (const auto& [member, refs] : by_member) {
      rows.emplace_back();
      for (const RowRef& ref : refs) {
        rows.back().push_back(Aligned(ref));
        if (!known) Add({ref}, 0);
      }
    }
    if (!known) return;
    for (const GapColumn& column : JoinGapRows(input_, rows, repeated_)) {
      if (column.certain) {
        Add(column.members, 1);
      } else {
        out_.instances.push_back(MakeInstance(input_, column.members, MatchKind::kAmbiguous, 0));
      }
    }
  }

  // Members on clocks that nothing connects with the others'.
  void AddIncomparable() {
    for (size_t m = 0; m < rows_.size(); ++m) {
      if (std::find(members_.begin(), members_.end(), m) != members_.end()) continue;
      for (const RowRef& ref : rows_[m]) {
        out_.instances.push_back(MakeInstance(input_, {ref}, MatchKind::kAmbiguous, 0));
      }
    }
  }

  const JoinInput& input_;
  const std::vector<std::vector<RowRef>>& rows_;
  std::vector<size_t> members_;
  double confidence_ = 0;
  std::set<GapSignature> repeated_;                // of rooted operations, in some gap
  std::vector<int64_t> anchor_ends_;               // by number
  std::map<size_t, std::vector<Anchor>> anchors_;  // by member
  CommunicatorJoin out_;
};

}  // namespace

std::optional<CommunicatorJoin> JoinOnClock(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows) {
  return ClockJoiner(input, rows).Run();
}

}  // namespace lockstep
