#include "analysis/metrics/match/join/instance_join.h"

#include <algorithm>
#include <utility>

#include "analysis/metrics/match/join/attach_join.h"
#include "analysis/metrics/match/join/clock_join.h"
#include "analysis/metrics/match/join/exchange_join.h"
#include "analysis/metrics/match/join/foreign_rows.h"
#include "analysis/metrics/match/join/id_join.h"
#include "analysis/metrics/match/join/instance_builder.h"
#include "analysis/metrics/match/join/order_join.h"
#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

void Append(CommunicatorJoin part, CommunicatorJoin& out) {
  if (out.instances.empty()) std::swap(out.instances, part.instances);
  std::move(part.instances.begin(), part.instances.end(), std::back_inserter(out.instances));
  std::move(part.evidence.begin(), part.evidence.end(), std::back_inserter(out.evidence));
}

std::vector<RowRef> Flatten(const std::vector<std::vector<RowRef>>& rows) {
  std::vector<RowRef> out;
  for (const auto& member : rows) out.insert(out.end(), member.begin(), member.end());
  return out;
}

CommunicatorJoin JoinNothing(const JoinInput& input) {
  const CommunicatorPlan& plan = input.plan;
  const bool ambiguous = plan.membership != Membership::kKnown && input.ranks.ranks.size() > 1;
  const MatchKind kind = ambiguous ? MatchKind::kAmbiguous : MatchKind::kNone;
  CommunicatorJoin out;
  size_t rows = 0;
  for (const std::vector<uint32_t>& of_rank : plan.rows) rows += of_rank.size();
  out.instances.reserve(rows);
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    for (const uint32_t row : plan.rows[m]) out.instances.push_back(MakeInstance(input, {{m, row}}, kind, 0));
  }
  return out;
}

// What the joined collectives themselves say about the clocks of their ranks.
void AddEvidence(const JoinInput& input, CommunicatorJoin& out) {
  std::vector<const MatchedInstance*> confident;
  for (const JoinedInstance& j : out.instances) {
    if (j.instance.confidence >= kCertainConfidence && MayBeAllPairs(j.instance.op)) confident.push_back(&j.instance);
  }
  const Certificate certificate = Certify(confident, input.domain, input.rows);
  out.evidence.insert(out.evidence.end(), certificate.evidence.begin(), certificate.evidence.end());
}

// Whether rows of other communicators may be among the joined ones: nobody told the members, and they are not simply
// all ranks of the run, two of them or keeping one order throughout.
bool MayShareStreams(const JoinInput& input, const CommunicatorJoin& by_order) {
  if (input.plan.membership == Membership::kKnown) return false;
  const bool whole_run = input.plan.ranks.size() == input.ranks.ranks.size();
  return !whole_run || (input.plan.ranks.size() > 2 && !by_order.settled);
}

// A later stretch of a run: the clocks of the members' hosts are known, and tell more than where its rows begin.
bool OnKnownClocks(const JoinInput& input) {
  const int32_t first = input.domain[static_cast<size_t>(input.plan.ranks.front())];
  return input.domains_known && std::any_of(input.plan.ranks.begin(), input.plan.ranks.end(), [&](int32_t rank) {
           return input.domain[static_cast<size_t>(rank)] != first;
         });
}

// By order where every rank keeps it, else by time.
void JoinUntold(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows, CommunicatorJoin by_order,
                CommunicatorJoin& out) {
  out.settled = out.settled && by_order.settled;
  const bool sure = input.plan.membership == Membership::kKnown || input.plan.discovered;
  if (sure && (!by_order.settled || OnKnownClocks(input))) {
    std::optional<CommunicatorJoin> by_time = JoinOnClock(input, rows);
    if (by_time) by_order.instances = std::move(by_time->instances);
  }
  if (MayShareStreams(input, by_order)) MarkForeign(input, by_order);
  Append(std::move(by_order), out);
}

// What binds all members, and what binds two of them.
void SplitRows(const JoinInput& input, std::vector<std::vector<RowRef>>& collectives,
               std::vector<RowRef>& point_to_point) {
  std::vector<std::vector<RowRef>> all(input.plan.ranks.size());
  bool some_pairs = false;
  for (size_t m = 0; m < all.size(); ++m) {
    all[m].reserve(input.plan.rows[m].size());
    for (const uint32_t row : input.plan.rows[m]) {
      all[m].push_back({m, row});
      const CollectiveOp op = RowAt(input, all[m].back()).op;
      some_pairs = some_pairs || IsPointToPoint(op) || op == CollectiveOp::kSendRecv;
    }
  }
  if (!some_pairs) {
    collectives = std::move(all);
    return;
  }
  const bool in_pairs = ExchangesInPairs(input, all);
  for (size_t m = 0; m < all.size(); ++m) {
    for (const RowRef& ref : all[m]) {
      const CollectiveOp op = RowAt(input, ref).op;
      const bool pair = IsPointToPoint(op) || (in_pairs && op == CollectiveOp::kSendRecv);
      (pair ? point_to_point : collectives[m]).push_back(ref);
    }
  }
}

// Joins collectives by their ids, and by time what has none. What ids do not join stays in `rows`; if that is for the
// ranks' clocks, `clocks` says which.
void JoinTold(const JoinInput& input, std::vector<std::vector<RowRef>>& rows, CommunicatorJoin& out,
              std::vector<ClockEvidence>& clocks) {
  std::optional<IdJoin> by_id = JoinById(input, Flatten(rows), clocks);
  if (!by_id) return;
  out.settled = out.settled && by_id->without.empty();
  for (JoinedInstance& j : by_id->instances) j.place += out.instances.size();
  if (!by_id->without.empty()) AttachByTime(input, rows, *by_id);
  std::move(by_id->instances.begin(), by_id->instances.end(), std::back_inserter(out.instances));
  for (auto& member : rows) member.clear();
}

// Formats differ in what they call an exchange of all members, and in whether it has an id.
bool IsExchange(CollectiveOp op) { return Compatible(op, CollectiveOp::kSendRecv) && op != CollectiveOp::kUnknown; }

bool Any(const std::vector<std::vector<RowRef>>& rows) {
  return std::any_of(rows.begin(), rows.end(), [](const auto& member) { return !member.empty(); });
}

// Whether exchanges run beside other collectives of their communicator, as gradients do on a stream of their own: rows
// of a rank that overlap are no sequence in time.
bool RunBeside(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows,
               const std::vector<std::vector<RowRef>>& exchanges) {
  constexpr size_t kSeldomOneIn = 20;
  size_t beside = 0;
  size_t all = 0;
  for (size_t m = 0; m < rows.size(); ++m) {
    size_t e = 0;
    all += rows[m].size();
    for (const RowRef& ref : rows[m]) {
      const CollectiveRow& row = RowAt(input, ref);
      while (e < exchanges[m].size() && RowAt(input, exchanges[m][e]).end_ns <= row.start_ns) ++e;
      if (e < exchanges[m].size() && RowAt(input, exchanges[m][e]).start_ns < row.end_ns) ++beside;
    }
  }
  return beside * kSeldomOneIn > all;
}

void MergeInto(std::vector<std::vector<RowRef>>& rows, const std::vector<std::vector<RowRef>>& more) {
  for (size_t m = 0; m < rows.size(); ++m) {
    const auto middle = rows[m].insert(rows[m].end(), more[m].begin(), more[m].end());
    std::inplace_merge(rows[m].begin(), middle, rows[m].end(),
                       [](const RowRef& a, const RowRef& b) { return a.row < b.row; });
  }
}

std::vector<std::vector<RowRef>> TakeExchanges(const JoinInput& input, std::vector<std::vector<RowRef>>& rows) {
  std::vector<std::vector<RowRef>> out(rows.size());
  for (size_t m = 0; m < rows.size(); ++m) {
    const auto rest = std::stable_partition(rows[m].begin(), rows[m].end(),
                                            [&](const RowRef& ref) { return !IsExchange(RowAt(input, ref).op); });
    out[m].assign(rest, rows[m].end());
    rows[m].erase(rest, rows[m].end());
  }
  return out;
}

void JoinAll(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows, CommunicatorJoin& out) {
  if (Any(rows)) JoinUntold(input, rows, JoinByOrder(input, rows), out);
}

// What no ids join. Exchanges may tear where others keep their order: then, and where they run beside the others, they
// are joined by themselves.
void JoinRest(const JoinInput& input, std::vector<std::vector<RowRef>>& rows,
              const std::vector<std::vector<RowRef>>& exchanges, CommunicatorJoin& out) {
  if (Any(exchanges) && Any(rows)) {
    CommunicatorJoin by_order = JoinByOrder(input, rows);
    if (by_order.settled || RunBeside(input, rows, exchanges)) {
      JoinAll(input, exchanges, out);
      return JoinUntold(input, rows, std::move(by_order), out);
    }
  }
  MergeInto(rows, exchanges);
  JoinAll(input, rows, out);
}

void JoinCollectives(const JoinInput& input, std::vector<std::vector<RowRef>> rows, CommunicatorJoin& out,
                     std::vector<ClockEvidence>& clocks) {
  out.settled = true;
  if (input.plan.membership != Membership::kKnown) return JoinAll(input, rows, out);
  std::vector<std::vector<RowRef>> exchanges = TakeExchanges(input, rows);
  JoinTold(input, rows, out, clocks);
  JoinTold(input, exchanges, out, clocks);
  JoinRest(input, rows, exchanges, out);
}

CommunicatorJoin JoinAllOf(const JoinInput& input) {
  const CommunicatorPlan& plan = input.plan;
  std::vector<std::vector<RowRef>> collectives(plan.ranks.size());
  std::vector<RowRef> point_to_point;
  SplitRows(input, collectives, point_to_point);
  CommunicatorJoin out;
  std::vector<ClockEvidence> clocks;
  JoinCollectives(input, std::move(collectives), out, clocks);
  CommunicatorJoin routes = JoinPointToPoint(input, point_to_point);
  out.settled = out.settled && routes.settled;
  Append(std::move(routes), out);
  if (input.domains_known) return out;
  if (clocks.empty()) {
    AddEvidence(input, out);
  } else {
    out.evidence = std::move(clocks);  // what was joined on one clock all the same says nothing of clocks
  }
  return out;
}

}  // namespace

// An assumed membership takes every member to be seen.
bool CanJoin(const CommunicatorPlan& plan) {
  if (plan.ranks.size() < 2 || plan.membership == Membership::kUnknown) return false;
  return plan.membership == Membership::kKnown || plan.ranks.size() == plan.info.members.size();
}

CommunicatorJoin JoinInstances(const JoinInput& input) {
  CommunicatorJoin out = CanJoin(input.plan) ? JoinAllOf(input) : JoinNothing(input);
  for (size_t i = 0; i < out.instances.size(); ++i) {
    size_t& place = out.instances[i].place;
    if (place == SIZE_MAX) place = i;
  }
  return out;
}

}  // namespace lockstep
