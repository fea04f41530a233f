#include "analysis/metrics/match/join/order_join.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "analysis/metrics/match/join/exchange_join.h"
#include "analysis/metrics/match/join/lane_alignment.h"
#include "analysis/metrics/match/join/route_join.h"

namespace lockstep {
namespace {

// The rows of every index of an aligned lane, by index and slot.
class GatheredRows {
 public:
  GatheredRows(const Lane& lane, const std::vector<std::optional<int64_t>>& shift) {
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
    for (size_t s = 0; s < lane.rows.size(); ++s) {
      if (!shift[s]) continue;
      first = std::min(first, -*shift[s]);
      last = std::max(last, static_cast<int64_t>(lane.rows[s].size()) - *shift[s]);
    }
    std::vector<size_t> end(first < last ? static_cast<size_t>(last - first) : 0, 0);
    const auto for_each = [&](const auto& use) {
      for (size_t s = 0; s < lane.rows.size(); ++s) {
        if (!shift[s]) continue;
        const auto from = static_cast<size_t>(-*shift[s] - first);
        for (size_t i = 0; i < lane.rows[s].size(); ++i) use(from + i, lane.rows[s][i]);
      }
    };
    for_each([&](size_t index, const RowRef&) { ++end[index]; });
    // From how many there are to where they begin; adding them moves that to where they end.
    size_t rows = 0;
    for (size_t& e : end) rows += std::exchange(e, rows);
    rows_.resize(rows);
    for_each([&](size_t index, const RowRef& ref) { rows_[end[index]++] = ref; });
    end_ = std::move(end);
    // Shifts far apart leave indices that no slot reaches.
    end_.erase(std::unique(end_.begin(), end_.end()), end_.end());
    if (!end_.empty() && end_.front() == 0) end_.erase(end_.begin());
  }

  [[nodiscard]] size_t size() const { return end_.size(); }
  [[nodiscard]] std::span<const RowRef> operator[](size_t i) const {
    const size_t from = i == 0 ? 0 : end_[i - 1];
    return std::span(rows_).subspan(from, end_[i] - from);
  }

 private:
  std::vector<RowRef> rows_;
  std::vector<size_t> end_;  // per index that has rows
};

bool OperationsAgree(const JoinInput& input, const GatheredRows& instances) {
  for (size_t i = 0; i < instances.size(); ++i) {
    const std::span<const RowRef> members = instances[i];
    const CollectiveOp op = RowAt(input, members.front()).op;
    const bool agree = std::all_of(members.begin(), members.end(),
                                   [&](const RowRef& ref) { return Compatible(op, RowAt(input, ref).op); });
    if (!agree) return false;
  }
  return true;
}

void AddSingles(const JoinInput& input, const std::vector<RowRef>& rows, MatchKind kind, CommunicatorJoin& out) {
  for (const RowRef& ref : rows) out.instances.push_back(MakeInstance(input, {ref}, kind, 0));
}

bool EqualCounts(const Lane& lane) {
  return std::all_of(lane.rows.begin(), lane.rows.end(),
                     [&](const auto& rows) { return rows.size() == lane.rows.front().size(); });
}

bool Complete(const LaneAlignment& alignment) {
  return std::all_of(alignment.shift.begin(), alignment.shift.end(), [](const auto& s) { return s.has_value(); });
}

MatchKind MatchKindOf(const JoinInput& input, const LaneAlignment& alignment) {
  if (!alignment.certain) return MatchKind::kAmbiguous;
  return input.plan.membership == Membership::kKnown ? MatchKind::kOrder : MatchKind::kInferred;
}

void EmitLane(const JoinInput& input, const Lane& lane, LaneAlignment alignment, CommunicatorJoin& out) {
  std::move(alignment.evidence.begin(), alignment.evidence.end(), std::back_inserter(out.evidence));
  const bool known = input.plan.membership == Membership::kKnown;
  if (!alignment.certain) {
    // The members are told and their counts agree: the likely join is shown, marked as what it is.
    const bool likely = known && EqualCounts(lane);
    for (auto& s : alignment.shift) s = likely ? std::optional<int64_t>(0) : std::nullopt;
  }
  const GatheredRows gathered(lane, alignment.shift);
  out.instances.reserve(out.instances.size() + gathered.size());
  for (size_t i = 0; i < gathered.size(); ++i) {
    const std::span<const RowRef> members = gathered[i];
    const bool matched = members.size() > 1;
    out.instances.push_back(MakeInstance(input, members, matched ? MatchKindOf(input, alignment) : MatchKind::kNone,
                                         matched ? alignment.confidence : 0));
  }
  for (size_t s = 0; s < lane.rows.size(); ++s) {
    if (!alignment.shift[s]) AddSingles(input, lane.rows[s], MatchKind::kAmbiguous, out);
  }
}

Lane WithoutEmptySlots(const std::vector<std::vector<RowRef>>& rows) {
  Lane lane;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(lane.rows), [](const auto& r) { return !r.empty(); });
  return lane;
}

// False if some rank does not fit.
bool JoinLane(const JoinInput& input, const Lane& lane, size_t slots_wanted, CommunicatorJoin& out) {
  if (lane.rows.size() < 2) {
    for (const auto& rows : lane.rows) AddSingles(input, rows, MatchKind::kNone, out);
    return slots_wanted < 2;
  }
  LaneAlignment alignment = AlignLane(input, lane);
  // An assumed membership is refuted by a rank that has nothing of the operation.
  if (input.plan.membership != Membership::kKnown && lane.rows.size() < slots_wanted) alignment.certain = false;
  const bool settled = alignment.certain && alignment.exact && Complete(alignment) && lane.rows.size() == slots_wanted;
  EmitLane(input, lane, std::move(alignment), out);
  return settled;
}

using RowsByOp = std::map<CollectiveOp, std::vector<std::vector<RowRef>>>;

RowsByOp SplitByOp(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows) {
  RowsByOp out;
  for (size_t m = 0; m < rows.size(); ++m) {
    for (const RowRef& ref : rows[m]) {
      auto& of_op = out[RowAt(input, ref).op];
      of_op.resize(rows.size());
      of_op[m].push_back(ref);
    }
  }
  return out;
}

using Route = std::pair<int32_t, int32_t>;  // rank indices of sender and receiver

// The other side of a point-to-point row: as told, else the other one of two.
int32_t OtherSide(const JoinInput& input, const RowRef& ref) {
  const CollectiveRow& row = RowAt(input, ref);
  if (row.peer >= 0) return ResolvePeer(input, ref, row.peer);
  if (input.plan.ranks.size() != 2 || input.plan.info.size != 2) return -1;
  return input.plan.ranks[1 - ref.member];
}

// Pairs whose rows carry one id, however many rows are lost. False if the ids do not serve.
bool JoinRouteById(const JoinInput& input, const Lane& lane, CommunicatorJoin& out) {
  using Key = std::pair<uint64_t, size_t>;  // id, occurrence
  std::map<Key, std::vector<RowRef>> keyed;
  size_t both = 0;
  for (const std::vector<RowRef>& side : lane.rows) {
    std::map<uint64_t, size_t> seen;
    for (const RowRef& ref : side) {
      const CollectiveRow& row = RowAt(input, ref);
      if (!row.has_comms_id) return false;
      std::vector<RowRef>& members = keyed[{row.comms_id, seen[row.comms_id]++}];
      members.push_back(ref);
      both += members.size() == 2 && members.front().member != ref.member ? 1 : 0;
    }
  }
  if (both * 4 < lane.rows[0].size() + lane.rows[1].size()) return false;
  for (const auto& [key, members] : keyed) {
    const bool matched = members.size() > 1;
    out.instances.push_back(MakeInstance(input, members, matched ? MatchKind::kId : MatchKind::kNone, matched ? 1 : 0));
  }
  return true;
}

std::vector<RouteRow> Timed(const JoinInput& input, const std::vector<RowRef>& rows) {
  std::vector<RouteRow> out;
  for (const RowRef& ref : rows) {
    const CollectiveRow& row = RowAt(input, ref);
    const int64_t correction = input.clock.Correction(input.plan.ranks[ref.member], LocalTime{row.start_ns}).ns;
    out.push_back({row.start_ns - correction, row.end_ns - correction});
  }
  return out;
}

// Pairs by time where the clocks of the two are comparable.
bool JoinRouteByTime(const JoinInput& input, const Lane& lane, CommunicatorJoin& out) {
  constexpr int64_t kSlackNs = 60'000;
  constexpr size_t kMinShare = 2;  // at least half of the shorter side finds a partner
  const int32_t sender = input.plan.ranks[lane.rows[0].front().member];
  const int32_t receiver = input.plan.ranks[lane.rows[1].front().member];
  if (input.clock.ComponentOf(sender) != input.clock.ComponentOf(receiver)) return false;
  const auto pairs = PairRoute(Timed(input, lane.rows[0]), Timed(input, lane.rows[1]), kSlackNs);
  const size_t shorter = std::min(lane.rows[0].size(), lane.rows[1].size());
  if (pairs.size() < 3 || pairs.size() * kMinShare < shorter) return false;
  std::vector<bool> sent(lane.rows[0].size(), false);
  std::vector<bool> received(lane.rows[1].size(), false);
  const MatchKind kind = input.plan.membership == Membership::kKnown ? MatchKind::kOrder : MatchKind::kInferred;
  for (const RoutePair& p : pairs) {
    sent[p.send] = received[p.receive] = true;
    out.instances.push_back(MakeInstance(input, {lane.rows[0][p.send], lane.rows[1][p.receive]},
                                         p.clear ? kind : MatchKind::kAmbiguous,
                                         p.clear ? kSignatureConfidence : kAmbiguousConfidence));
  }
  for (size_t i = 0; i < sent.size(); ++i) {
    if (!sent[i]) AddSingles(input, {lane.rows[0][i]}, MatchKind::kNone, out);
  }
  for (size_t i = 0; i < received.size(); ++i) {
    if (!received[i]) AddSingles(input, {lane.rows[1][i]}, MatchKind::kNone, out);
  }
  return true;
}

// Ends of the k-th rows of two sides and how far apart they lie.
class EndSteps {
 public:
  EndSteps(const JoinInput& input, const Lane& lane) : input_(input), lane_(lane) {}

  // From the row before; 0 for the first one.
  [[nodiscard]] int64_t Gap(size_t side, size_t i) const {
    if (i == 0 || i >= lane_.rows[side].size()) return 0;
    return RowAt(input_, lane_.rows[side][i]).end_ns - RowAt(input_, lane_.rows[side][i - 1]).end_ns;
  }

  // The least distance of rows next to each other about row i: what losing one there would shift the order by.
  [[nodiscard]] int64_t Least(size_t i) const {
    int64_t least = INT64_MAX;
    for (size_t side = 0; side < 2; ++side) {
      for (size_t at = std::max<size_t>(2, i) - 1; at <= std::min(i + 1, lane_.rows[side].size() - 1); ++at) {
        least = std::min(least, std::abs(Gap(side, at)));
      }
    }
    return least;
  }

 private:
  const JoinInput& input_;
  const Lane& lane_;
};

// Whether the ends of the k-th rows of two sides keep their distance. Where either side has lost a row the order may
// be off by one for a while, and neither signatures that repeat nor most of the ends show it.
bool KeepsStep(const JoinInput& input, const Lane& lane) {
  constexpr int64_t kJitterNs = 20'000;
  constexpr int64_t kDriftPart = 10'000;  // of the time between two rows
  constexpr int64_t kClearPart = 4;       // of the least distance of rows
  if (lane.rows.size() != 2) return true;
  if (!EqualCounts(lane)) return false;
  const EndSteps ends(input, lane);
  for (size_t i = 1; i < lane.rows[0].size(); ++i) {
    const int64_t apart = std::abs(ends.Gap(0, i) - ends.Gap(1, i));
    if (apart > kJitterNs + ends.Gap(0, i) / kDriftPart && apart > ends.Least(i) / kClearPart) return false;
  }
  return true;
}

void JoinRoute(const JoinInput& input, const Lane& lane, CommunicatorJoin& out) {
  Lane present = WithoutEmptySlots(lane.rows);
  present.relation = lane.relation;
  if (present.rows.size() == 2 && JoinRouteById(input, lane, out)) return;
  CommunicatorJoin by_order;
  const bool settled = JoinLane(input, present, 2, by_order) && KeepsStep(input, present);
  out.settled = out.settled && (settled || present.rows.size() < 2);
  std::move(by_order.evidence.begin(), by_order.evidence.end(), std::back_inserter(out.evidence));
  if (!settled && present.rows.size() == 2 && JoinRouteByTime(input, lane, out)) return;
  std::move(by_order.instances.begin(), by_order.instances.end(), std::back_inserter(out.instances));
}

// Rows of the routes that their traces tell.
class Routes {
 public:
  explicit Routes(const JoinInput& input) : input_(input) {}

  void Take(const RowRef& ref, CommunicatorJoin& out) {
    const CollectiveRow& row = RowAt(input_, ref);
    const int32_t own = input_.plan.ranks[ref.member];
    const int32_t other = OtherSide(input_, ref);
    if (row.op == CollectiveOp::kSendRecv || (other < 0 && row.peer < 0)) {
      untold_.push_back(ref);
      untold_ranks_.insert(own);
    } else if (other < 0 || other == own) {
      AddSingles(input_, {ref}, MatchKind::kNone, out);
    } else {
      const bool sends = row.op == CollectiveOp::kSend;
      Lane& lane = routes_[sends ? Route(own, other) : Route(other, own)];
      lane.relation = PairRelation::kSendToReceive;
      lane.rows.resize(2);
      lane.rows[sends ? 0 : 1].push_back(ref);
    }
  }

  // Joins the routes of which both sides tell; what is left has to find its partner by other means.
  std::vector<RowRef> Join(CommunicatorJoin& out) {
    for (const auto& [route, lane] : routes_) {
      if (IsOneSided(route, lane)) {
        for (const auto& side : lane.rows) untold_.insert(untold_.end(), side.begin(), side.end());
        continue;
      }
      CommunicatorJoin joined;
      joined.settled = out.settled;
      JoinRoute(input_, lane, joined);
      out.settled = joined.settled;
      std::move(joined.evidence.begin(), joined.evidence.end(), std::back_inserter(out.evidence));
      for (JoinedInstance& j : joined.instances) Add(route, std::move(j), out);
    }
    return std::move(untold_);
  }

 private:
  // A row that found no partner on its route may have one among those that tell no peer.
  void Add(const Route& route, JoinedInstance joined, CommunicatorJoin& out) {
    const MatchedMember& first = joined.instance.members.front();
    const int32_t other = first.rank_index == route.first ? route.second : route.first;
    if (!joined.instance.matched() && untold_ranks_.count(other) > 0) {
      untold_.push_back(RefOf(input_, first));
      return;
    }
    joined.sender = route.first;
    joined.receiver = route.second;
    out.instances.push_back(std::move(joined));
  }

  // The other side's rows are among those that tell no peer.
  [[nodiscard]] bool IsOneSided(const Route& route, const Lane& lane) const {
    return (lane.rows[0].empty() && untold_ranks_.count(route.first) > 0) ||
           (lane.rows[1].empty() && untold_ranks_.count(route.second) > 0);
  }

  const JoinInput& input_;
  std::map<Route, Lane> routes_;
  std::vector<RowRef> untold_;
  std::set<int32_t> untold_ranks_;
};

}  // namespace

CommunicatorJoin JoinByOrder(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows) {
  CommunicatorJoin out;
  const Lane whole = WithoutEmptySlots(rows);
  if (whole.rows.size() > 1 && (input.plan.membership == Membership::kKnown || whole.rows.size() == rows.size())) {
    LaneAlignment alignment = AlignLane(input, whole);
    if (alignment.certain && Complete(alignment) && OperationsAgree(input, GatheredRows(whole, alignment.shift))) {
      out.settled = alignment.exact && whole.rows.size() == rows.size();
      EmitLane(input, whole, std::move(alignment), out);
      return out;
    }
    out.evidence = std::move(alignment.evidence);
  }
  out.settled = true;
  for (const auto& [op, of_op] : SplitByOp(input, rows)) {
    const bool settled = JoinLane(input, WithoutEmptySlots(of_op), rows.size(), out);
    out.settled = out.settled && settled;
  }
  return out;
}

CommunicatorJoin JoinPointToPoint(const JoinInput& input, const std::vector<RowRef>& rows) {
  CommunicatorJoin out;
  out.settled = true;
  Routes routes(input);
  for (const RowRef& ref : rows) routes.Take(ref, out);
  CommunicatorJoin exchanges = JoinExchanges(input, rows, routes.Join(out));
  out.settled = out.settled && exchanges.settled;
  std::move(exchanges.instances.begin(), exchanges.instances.end(), std::back_inserter(out.instances));
  return out;
}

}  // namespace lockstep
