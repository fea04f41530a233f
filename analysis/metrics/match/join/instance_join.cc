#include "analysis/metrics/match/join/instance_join.h"

#include <algorithm>
#include <utility>

#include "analysis/metrics/match/join/clock_join.h"
#include "analysis/metrics/match/join/exchange_join.h"
#include "analysis/metrics/match/join/id_join.h"
#include "analysis/metrics/match/join/instance_builder.h"
#include "analysis/metrics/match/join/order_join.h"

namespace lockstep {
namespace {

void Append(CommunicatorJoin part, CommunicatorJoin& out) {
  std::move(part.instances.begin(), part.instances.end(), std::back_inserter(out.instances));
  std::move(part.evidence.begin(), part.evidence.end(), std::back_inserter(out.evidence));
}

std::vector<RowRef> Flatten(const std::vector<std::vector<RowRef>>& rows) {
  std::vector<RowRef> out;
  for (const auto& member : rows) out.insert(out.end(), member.begin(), member.end());
  return out;
}

// An assumed membership takes every member to be seen.
bool CanJoin(const JoinInput& input) {
  const CommunicatorPlan& plan = input.plan;
  if (plan.ranks.size() < 2 || plan.membership == Membership::kUnknown) return false;
  return plan.membership == Membership::kKnown || plan.ranks.size() == plan.info.members.size();
}

CommunicatorJoin JoinNothing(const JoinInput& input) {
  const CommunicatorPlan& plan = input.plan;
  const bool ambiguous = plan.membership != Membership::kKnown && input.ranks.ranks.size() > 1;
  const MatchKind kind = ambiguous ? MatchKind::kAmbiguous : MatchKind::kNone;
  CommunicatorJoin out;
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    for (const uint32_t row : plan.rows[m]) out.instances.push_back(MakeInstance(input, {{m, row}}, kind, 0));
  }
  return out;
}

// What the joined collectives themselves say about the clocks of their ranks.
void AddEvidence(const JoinInput& input, CommunicatorJoin& out) {
  std::vector<const MatchedInstance*> confident;
  for (const JoinedInstance& j : out.instances) {
    if (j.instance.confidence >= 0.99 && MayBeAllPairs(j.instance.op)) confident.push_back(&j.instance);
  }
  const Certificate certificate = Certify(confident, input.domain, input.rows);
  out.evidence.insert(out.evidence.end(), certificate.evidence.begin(), certificate.evidence.end());
}

// By order where every rank keeps it, else by time.
void JoinUntold(const JoinInput& input, const std::vector<std::vector<RowRef>>& rows, CommunicatorJoin& out) {
  CommunicatorJoin by_order = JoinByOrder(input, rows);
  out.settled = by_order.settled;
  const bool sure = input.plan.membership == Membership::kKnown || input.plan.discovered;
  if (sure && !by_order.settled) {
    std::optional<CommunicatorJoin> by_time = JoinOnClock(input, rows);
    if (by_time) by_order.instances = std::move(by_time->instances);
  }
  Append(std::move(by_order), out);
}

// What binds all members, and what binds two of them.
void SplitRows(const JoinInput& input, std::vector<std::vector<RowRef>>& collectives,
               std::vector<RowRef>& point_to_point) {
  std::vector<std::vector<RowRef>> all(input.plan.ranks.size());
  for (size_t m = 0; m < all.size(); ++m) {
    for (const uint32_t row : input.plan.rows[m]) all[m].push_back({m, row});
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

}  // namespace

CommunicatorJoin JoinInstances(const JoinInput& input) {
  const CommunicatorPlan& plan = input.plan;
  if (!CanJoin(input)) return JoinNothing(input);
  std::vector<std::vector<RowRef>> collectives(plan.ranks.size());
  std::vector<RowRef> point_to_point;
  SplitRows(input, collectives, point_to_point);
  CommunicatorJoin out;
  std::optional<std::vector<JoinedInstance>> by_id;
  if (plan.membership == Membership::kKnown) by_id = JoinById(input, Flatten(collectives));
  if (by_id) {
    out.instances = std::move(*by_id);
    out.settled = true;
  } else {
    JoinUntold(input, collectives, out);
  }
  CommunicatorJoin routes = JoinPointToPoint(input, point_to_point);
  out.settled = out.settled && routes.settled;
  Append(std::move(routes), out);
  AddEvidence(input, out);
  return out;
}

}  // namespace lockstep
