#include "analysis/metrics/skew/skew.h"

#include <bit>
#include <utility>

#include "analysis/base/saturating.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

struct Divided {
  int64_t quotient = 0;
  int64_t rest = 0;  // in [0, by)
};

// Groups are mostly of a power of two, by which this takes no division.
Divided DivideDown(int64_t value, int64_t by) {
  if (std::has_single_bit(static_cast<uint64_t>(by))) {
    return {value >> std::countr_zero(static_cast<uint64_t>(by)), value & (by - 1)};
  }
  const Divided toward_zero{value / by, value % by};
  return toward_zero.rest < 0 ? Divided{toward_zero.quotient - 1, toward_zero.rest + by} : toward_zero;
}

int64_t DivideHalfToEven(int64_t value, int64_t by) {
  auto [quotient, rest] = DivideDown(value, by);
  if (rest > by - rest || (rest == by - rest && quotient % 2 != 0)) ++quotient;
  return quotient;
}

// Of equal ones the lowest rank.
void NameWorst(const std::map<int32_t, int64_t>& caused, StepSkew& step) {
  for (const auto& [rank_index, wait] : caused) {
    if (wait <= step.worst_caused_wait_ns) continue;
    step.worst_rank_index = rank_index;
    step.worst_caused_wait_ns = wait;
  }
}

}  // namespace

SkewSum::SkewSum(size_t ranks) : feeds_(ranks) { totals_.ranks.resize(ranks); }

void SkewSum::AddToRanks(const MatchedInstance& instance) {
  for (const MatchedMember& m : instance.members) {
    RankSkew& rank = totals_.ranks[static_cast<size_t>(m.rank_index)];
    RankFeeds& feeds = feeds_[static_cast<size_t>(m.rank_index)];
    feeds.lateness_ns.Add(LatenessNs(instance, m), rank.lateness_ns);
    feeds.wait_ns.Add(m.wait_ns, rank.wait_ns);
    rank.wait_total_ns = AddStopping(rank.wait_total_ns, m.wait_ns);
    rank.wait_uncertainty_ns = AddStopping(rank.wait_uncertainty_ns, m.wait_uncertainty_ns);
    ++rank.instances;
    rank.certain_instances += instance.last_certain ? 1 : 0;
  }
  if (instance.last_certain) ++totals_.ranks[static_cast<size_t>(instance.last_rank_index)].last_arrivals;
  ForEachCausedWait(instance, [&](const CausedWait& it) {
    if (!it.certain) {
      totals_.unassigned_wait_ns = AddStopping(totals_.unassigned_wait_ns, it.wait_ns);
      return;
    }
    RankSkew& awaited = totals_.ranks[static_cast<size_t>(it.rank_index)];
    awaited.caused_wait_total_ns = AddStopping(awaited.caused_wait_total_ns, it.wait_ns);
    awaited.caused_uncertainty_ns = AddStopping(awaited.caused_uncertainty_ns, it.uncertainty_ns);
  });
}

void SkewSum::AddToStep(const MatchedInstance& instance, StepWork& work) {
  StepSkew& step = work.skew;
  step.step = instance.step;
  ++step.instances;
  step.wait_total_ns = AddStopping(step.wait_total_ns, TotalWaitNs(instance));
  step.wait_uncertainty_ns = AddStopping(step.wait_uncertainty_ns, TotalWaitUncertaintyNs(instance));
  work.spread_ns.Add(instance.spread_ns, step.spread_ns);
  ForEachCausedWait(instance, [&](const CausedWait& it) {
    if (!it.certain || it.wait_ns == 0) return;
    int64_t& of_rank = work.caused[it.rank_index];
    of_rank = AddStopping(of_rank, it.wait_ns);
  });
}

void SkewSum::Add(const MatchedInstance& instance) {
  if (!instance.usable()) return;
  AddToRanks(instance);
  if (instance.step == kNoStep) return;
  AddToStep(instance, steps_[instance.step]);
}

SkewTotals SkewSum::Finish() {
  for (size_t r = 0; r < feeds_.size(); ++r) {
    feeds_[r].lateness_ns.Flush(totals_.ranks[r].lateness_ns);
    feeds_[r].wait_ns.Flush(totals_.ranks[r].wait_ns);
  }
  for (auto& [number, work] : steps_) {
    work.spread_ns.Flush(work.skew.spread_ns);
    NameWorst(work.caused, work.skew);
    totals_.steps.push_back(std::move(work.skew));
  }
  return std::move(totals_);
}

SkewTotals ComputeSkew(const MatchResult& match, size_t ranks, const InstanceFilter& selected) {
  SkewSum sum(ranks);
  for (const MatchedInstance& instance : match.instances) {
    if (instance.usable() && selected(instance)) sum.Add(instance);
  }
  return sum.Finish();
}

int64_t LatenessNs(const MatchedInstance& instance, const MatchedMember& member) {
  return DivideHalfToEven(member.lateness_times_m_ns, static_cast<int64_t>(instance.members.size()));
}

}  // namespace lockstep
