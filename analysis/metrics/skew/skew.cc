#include "analysis/metrics/skew.h"

namespace lockstep {
namespace {

int64_t AddStopping(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

int64_t DivideHalfToEven(int64_t value, int64_t by) {
  int64_t quotient = value / by;
  int64_t rest = value % by;
  if (rest < 0) {
    rest += by;
    --quotient;
  }
  if (rest > by - rest || (rest == by - rest && quotient % 2 != 0)) ++quotient;
  return quotient;
}

void Add(const MatchedInstance& instance, SkewTotals& totals) {
  const int64_t wait = TotalWaitNs(instance);
  for (const MatchedMember& m : instance.members) {
    RankSkew& rank = totals.ranks[static_cast<size_t>(m.rank_index)];
    rank.lateness_ns.Add(LatenessNs(instance, m));
    rank.wait_total_ns = AddStopping(rank.wait_total_ns, m.wait_ns);
    ++rank.instances;
    rank.certain_instances += instance.last_certain ? 1 : 0;
  }
  if (!instance.last_certain) {
    totals.unassigned_wait_ns = AddStopping(totals.unassigned_wait_ns, wait);
    return;
  }
  RankSkew& last = totals.ranks[static_cast<size_t>(instance.last_rank_index)];
  last.caused_wait_total_ns = AddStopping(last.caused_wait_total_ns, wait);
  ++last.last_arrivals;
}

}  // namespace

SkewTotals ComputeSkew(const MatchResult& match, size_t ranks, const InstanceFilter& selected) {
  SkewTotals totals;
  totals.ranks.resize(ranks);
  for (const MatchedInstance& instance : match.instances) {
    if (instance.usable() && selected(instance)) Add(instance, totals);
  }
  return totals;
}

int64_t LatenessNs(const MatchedInstance& instance, const MatchedMember& member) {
  return DivideHalfToEven(member.lateness_times_m_ns, static_cast<int64_t>(instance.members.size()));
}

int64_t TotalWaitNs(const MatchedInstance& instance) {
  int64_t total = 0;
  for (const MatchedMember& m : instance.members) total = AddStopping(total, m.wait_ns);
  return total;
}

}  // namespace lockstep
