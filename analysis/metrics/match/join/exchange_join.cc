#include "analysis/metrics/match/join/exchange_join.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "analysis/metrics/match/join/pair_matching.h"
#include "analysis/metrics/match/lanes/exchange_links.h"
#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

constexpr int64_t kMinPairSigmaNs = 1'000;
constexpr double kTailSigmas = 1.5;  // from there on the cost grows linearly: ends have long tails
constexpr int64_t kMaxReachNs = 60'000;
constexpr double kLeastPaired = 0.4;  // of the rows with an id, where ids tell what belongs together
constexpr size_t kMaxRowsOfId = 64;   // more rows than a chain of stages that count alike would put under one id

bool MayMeet(const CollectiveRow& a, const CollectiveRow& b) {
  const bool untold = a.op == CollectiveOp::kSendRecv || b.op == CollectiveOp::kSendRecv;
  const bool bytes = a.bytes == b.bytes || a.bytes == kUnknownBytes || b.bytes == kUnknownBytes;
  return bytes && (untold || a.op != b.op);
}

class ExchangeJoiner {
 public:
  explicit ExchangeJoiner(const JoinInput& input) : input_(input) { out_.settled = true; }

  CommunicatorJoin Run(const std::vector<RowRef>& all, const std::vector<RowRef>& rows) {
    ids_serve_ = IdsServe(all);
    const std::vector<RowRef> rest = ids_serve_ ? JoinIds(rows) : rows;
    if (!rest.empty()) JoinByEnds(all, rest);
    return std::move(out_);
  }

 private:
  [[nodiscard]] int32_t RankOf(const RowRef& ref) const { return input_.plan.ranks[ref.member]; }
  [[nodiscard]] const CollectiveRow& Row(const RowRef& ref) const { return RowAt(input_, ref); }

  void AddPair(const RowRef& a, const RowRef& b, MatchKind kind, double confidence) {
    JoinedInstance joined = MakeInstance(input_, {a, b}, kind, confidence);
    joined.pair = true;
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      if (Row(x).op != CollectiveOp::kSend && Row(y).op != CollectiveOp::kRecv) continue;
      joined.sender = RankOf(x);
      joined.receiver = RankOf(y);
    }
    out_.instances.push_back(std::move(joined));
  }

  using RowsById = std::map<uint64_t, std::vector<RowRef>>;

  [[nodiscard]] RowsById ById(const std::vector<RowRef>& rows) const {
    RowsById out;
    for (const RowRef& ref : rows) {
      if (Row(ref).has_comms_id) out[Row(ref).comms_id].push_back(ref);
    }
    return out;
  }

  // Different ranks and opposite directions.
  [[nodiscard]] bool MayBePair(const RowRef& a, const RowRef& b) const {
    return a.member != b.member && MayMeet(Row(a), Row(b)) && PeersAllow(a, b);
  }

  // Rows of one id that can be of an exchange with just one of the others.
  [[nodiscard]] size_t PairedRows(const std::vector<RowRef>& of_id) const {
    if (of_id.size() > kMaxRowsOfId) return 0;
    const auto partners = [&](const RowRef& a) {
      return std::count_if(of_id.begin(), of_id.end(), [&](const RowRef& b) { return MayBePair(a, b); });
    };
    return static_cast<size_t>(
        std::count_if(of_id.begin(), of_id.end(), [&](const RowRef& a) { return partners(a) == 1; }));
  }

  // Not where ids are each process' own count: few rows find a partner by them then, and those by chance. All rows are
  // asked: among the few that routes left over, chance would look like a rule.
  [[nodiscard]] bool IdsServe(const std::vector<RowRef>& all) const {
    size_t with_id = 0;
    size_t paired = 0;
    for (const auto& [id, rows] : ById(all)) {
      with_id += rows.size();
      paired += PairedRows(rows);
    }
    return static_cast<double>(paired) > kLeastPaired * static_cast<double>(with_id);
  }

  // Ids that exactly two rows share. What is left: rows without an id, and where there are such, ids that no other row
  // has.
  std::vector<RowRef> JoinIds(const std::vector<RowRef>& rows) {
    const RowsById by_id = ById(rows);
    std::vector<RowRef> rest;
    for (const RowRef& ref : rows) {
      if (!Row(ref).has_comms_id) rest.push_back(ref);
    }
    const bool mixed = !rest.empty() || TwoFormats(rows);
    for (const auto& [id, members] : by_id) {
      if (members.size() == 2 && MayBePair(members[0], members[1])) {
        AddPair(members[0], members[1], MatchKind::kId, 1);
        continue;
      }
      if (members.size() == 1 && mixed) {
        rest.push_back(members.front());
        continue;
      }
      // Two routes of a group may count alike: then each of the two has lost its own partner.
      const bool alone = members.size() == 1 || (members.size() == 2 && !PeersAllow(members[0], members[1]));
      const MatchKind kind = alone ? MatchKind::kNone : MatchKind::kAmbiguous;
      for (const RowRef& ref : members) out_.instances.push_back(MakeInstance(input_, {ref}, kind, 0));
    }
    return rest;
  }

  void JoinByEnds(const std::vector<RowRef>& all, const std::vector<RowRef>& rest) {
    out_.settled = false;
    MakeLanes(all);
    std::set<std::pair<size_t, uint32_t>> wanted;
    for (const RowRef& ref : rest) wanted.emplace(ref.member, ref.row);
    for (const RowRef& ref : numbered_) open_.push_back(wanted.count({ref.member, ref.row}) > 0);
    std::vector<PossiblePair> possible;
    const std::vector<ExchangeLink> links = FindExchangeLinks(lanes_);
    for (const ExchangeLink& link : links) AddPossible(link, possible);
    std::vector<bool> paired(numbered_.size(), false);
    const bool known = input_.plan.membership == Membership::kKnown;
    for (const ChosenPair& c : MatchPairs(numbered_.size(), possible)) {
      const PossiblePair& p = possible[c.pair];
      const bool certain = c.confidence >= 0.99;
      const MatchKind kind = !certain ? MatchKind::kAmbiguous : known ? MatchKind::kOrder : MatchKind::kInferred;
      paired[p.x] = paired[p.y] = true;
      AddPair(numbered_[p.x], numbered_[p.y], kind,
              certain ? c.confidence : std::min(c.confidence, kAmbiguousConfidence));
    }
    std::vector<bool> linked(lanes_.size(), false);
    for (const ExchangeLink& link : links) linked[link.a] = linked[link.b] = true;
    for (size_t l = 0; l < lanes_.size(); ++l) {
      for (size_t i = 0; i < lanes_[l].events.size(); ++i) {
        const size_t n = first_[l] + i;
        if (paired[n] || !open_[n]) continue;
        const MatchKind kind = linked[l] ? MatchKind::kNone : MatchKind::kAmbiguous;
        out_.instances.push_back(MakeInstance(input_, {numbered_[n]}, kind, 0));
      }
    }
  }

  [[nodiscard]] bool IsNsys(const RowRef& ref) const { return input_.rows[static_cast<size_t>(RankOf(ref))].nsys; }
  [[nodiscard]] bool TwoFormats(const std::vector<RowRef>& rows) const {
    return std::any_of(rows.begin(), rows.end(), [&](const RowRef& r) { return IsNsys(r) != IsNsys(rows.front()); });
  }

  // Neither tells another rank as its other side.
  [[nodiscard]] bool PeersAllow(const RowRef& a, const RowRef& b) const {
    const auto allows = [&](const RowRef& x, const RowRef& y) {
      const int32_t peer = ResolvePeer(input_, x, Row(x).peer);
      return peer < 0 || peer == RankOf(y);
    };
    return allows(a, b) && allows(b, a);
  }

  // Whether what two rows left without a partner tell allows them to be one exchange.
  [[nodiscard]] bool MayPair(const RowRef& a, const RowRef& b) const {
    const bool told_apart = ids_serve_ && Row(a).has_comms_id && Row(b).has_comms_id && IsNsys(a) == IsNsys(b);
    return !told_apart && MayMeet(Row(a), Row(b)) && PeersAllow(a, b);
  }

  // One lane a rank, on the common axis of its component.
  void MakeLanes(const std::vector<RowRef>& rows) {
    std::map<size_t, std::vector<std::pair<LaneEvent, RowRef>>> by_member;
    for (const RowRef& ref : rows) {
      const CollectiveRow& row = Row(ref);
      const int64_t correction = input_.clock.Correction(RankOf(ref), LocalTime{row.start_ns}).ns;
      by_member[ref.member].push_back({{row.start_ns - correction, row.end_ns - correction, 0}, ref});
    }
    for (auto& [member, events] : by_member) {
      std::stable_sort(events.begin(), events.end(),
                       [](const auto& a, const auto& b) { return a.first.end_ns < b.first.end_ns; });
      const int32_t rank = input_.plan.ranks[member];
      ExchangeLane lane{rank, input_.clock.ComponentOf(rank), {}};
      first_.push_back(numbered_.size());
      for (const auto& [event, ref] : events) {
        lane.events.push_back(event);
        numbered_.push_back(ref);
      }
      lanes_.push_back(std::move(lane));
    }
  }

  void AddPossible(const ExchangeLink& link, std::vector<PossiblePair>& out) const {
    const std::vector<LaneEvent>& a = lanes_[link.a].events;
    const std::vector<LaneEvent>& b = lanes_[link.b].events;
    const int64_t sigma = std::max(kMinPairSigmaNs, link.deviation_ns * 3 / 2);
    const int64_t reach = std::min(kMaxReachNs, 8 * sigma);
    size_t from = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const int64_t want = a[i].end_ns + link.centre_ns;
      while (from < b.size() && b[from].end_ns < want - reach) ++from;
      for (size_t j = from; j < b.size() && b[j].end_ns <= want + reach; ++j) {
        const size_t x = first_[link.a] + i;
        const size_t y = first_[link.b] + j;
        if (!open_[x] || !open_[y] || !MayPair(numbered_[x], numbered_[y])) continue;
        const double z = static_cast<double>(std::abs(b[j].end_ns - want)) / static_cast<double>(sigma);
        const double cost = z <= kTailSigmas ? z * z / 2 : kTailSigmas * (z - kTailSigmas / 2);
        out.push_back({x, y, cost});
      }
    }
  }

  const JoinInput& input_;
  CommunicatorJoin out_;
  bool ids_serve_ = false;  // two rows of one exchange carry one id: rows of different ids never meet
  std::vector<ExchangeLane> lanes_;
  std::vector<size_t> first_;     // per lane: number of its first row
  std::vector<RowRef> numbered_;  // rows in the order of the lanes' events
  std::vector<bool> open_;        // per number: not joined yet
};

}  // namespace

CommunicatorJoin JoinExchanges(const JoinInput& input, const std::vector<RowRef>& all,
                               const std::vector<RowRef>& rows) {
  return ExchangeJoiner(input).Run(all, rows);
}

bool ExchangesInPairs(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows) {
  if (input.plan.in_pairs) return true;
  if (input.plan.info.size == 2) return false;
  std::vector<size_t> counts;
  bool one_way = false;
  for (const std::vector<RowRef>& of_member : rows) {
    size_t both = 0;
    for (const RowRef& ref : of_member) {
      const CollectiveOp op = RowAt(input, ref).op;
      both += op == CollectiveOp::kSendRecv ? 1 : 0;
      one_way = one_way || IsPointToPoint(op);
    }
    if (both > 0) counts.push_back(both);
  }
  if (counts.size() < 2) return !counts.empty() && one_way;
  // A chain's inner members have two partners and its two ends have one. A single member with few rows has lost some.
  constexpr size_t kFewRows = 8;
  std::sort(counts.begin(), counts.end());
  const bool chain = counts[0] >= kFewRows && 3 * counts[1] <= 2 * counts.back();
  return one_way || chain;
}

}  // namespace lockstep
