#include "analysis/metrics/match.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/certificate.h"
#include "analysis/metrics/collective_rows.h"
#include "analysis/metrics/communicators.h"
#include "analysis/metrics/host_domains.h"
#include "analysis/metrics/in_domain_clock.h"
#include "analysis/metrics/instance_join.h"
#include "analysis/metrics/instance_words.h"
#include "analysis/metrics/order_score.h"

namespace lockstep {
namespace {

struct Work {
  const RankResolution& ranks;
  std::vector<RankRows> rows;
  std::vector<CommunicatorPlan> plans;
  std::vector<CommunicatorJoin> joins;  // per plan
};

void JoinAll(Work& work, const DomainPlan& domains, Executor& executor) {
  work.joins.assign(work.plans.size(), {});
  executor.ParallelFor(work.plans.size(), [&](size_t c) {
    work.joins[c] = JoinInstances({work.plans[c], static_cast<uint32_t>(c), work.ranks, work.rows, domains.domain});
  });
}

// Joins with the planned domains; where the joined instances refute one, splits it and joins again.
DomainPlan JoinAndRefine(Work& work, DomainPlan domains, Executor& executor) {
  JoinAll(work, domains, executor);
  std::vector<ClockEvidence> evidence;
  for (const CommunicatorJoin& join : work.joins) {
    evidence.insert(evidence.end(), join.evidence.begin(), join.evidence.end());
  }
  DomainPlan refined = RefineDomains(domains, evidence);
  if (refined.domain != domains.domain) JoinAll(work, refined, executor);
  return refined;
}

// Operations of one communicator that are all-pairs: by their kind, or because their instances all share common points.
std::map<CollectiveOp, bool> AllPairsOps(const CommunicatorJoin& join, const Work& work,
                                         const std::vector<int32_t>& domain) {
  std::map<CollectiveOp, std::vector<const MatchedInstance*>> by_op;
  for (const JoinedInstance& j : join.instances) {
    if (j.receiver < 0 && j.instance.matched() && j.instance.confidence >= 0.99) {
      by_op[j.instance.op].push_back(&j.instance);
    }
  }
  std::map<CollectiveOp, bool> out;
  for (const auto& [op, instances] : by_op) {
    out[op] = IsAllPairs(op);
    if (out[op] || !MayBeAllPairs(op)) continue;
    const Certificate certificate = Certify(instances, domain, work.rows);
    out[op] = certificate.checked > 0 && certificate.rate() >= kMinCommonRate;
  }
  return out;
}

bool Contains(const std::map<CollectiveOp, bool>& all_pairs, const JoinedInstance& j) {
  const auto at = all_pairs.find(j.instance.op);
  return j.receiver < 0 && (at == all_pairs.end() ? IsAllPairs(j.instance.op) : at->second);
}

// In order of (A, lowest rank), as the index counts.
void SortAndNumber(std::vector<JoinedInstance>& instances) {
  const auto key = [](const JoinedInstance& j) {
    int64_t last_start = INT64_MIN;
    for (const MatchedMember& m : j.instance.members) last_start = std::max(last_start, m.start_ns);
    const MatchedMember& lowest = j.instance.members.front();
    return std::tuple(last_start, lowest.rank_index, lowest.row);
  };
  std::sort(instances.begin(), instances.end(),
            [&](const JoinedInstance& a, const JoinedInstance& b) { return key(a) < key(b); });
  for (size_t i = 0; i < instances.size(); ++i) instances[i].instance.index = static_cast<int64_t>(i);
}

void CountDrops(const CommunicatorPlan& plan, const MatchedInstance& instance, MatchResult& out) {
  const auto count = [&](DropReason reason) {
    for (const MatchedMember& m : instance.members) out.rank_drops[static_cast<size_t>(m.rank_index)].Add(reason);
  };
  const bool unknown = plan.membership != Membership::kKnown && !instance.matched();
  if (unknown) count(DropReason::kNoGroup);
  if (instance.kind == MatchKind::kAmbiguous) {
    count(DropReason::kAmbiguousInstance);
  } else if (!instance.matched() && !unknown && plan.ranks.size() > 1) {
    count(DropReason::kUnmatchedInstance);
  }
}

void Emit(Work& work, const std::vector<std::map<CollectiveOp, bool>>& all_pairs, Executor& executor,
          MatchResult& out) {
  std::vector<std::vector<std::vector<ArrivalOfRow>>> arrivals(work.plans.size());
  executor.ParallelFor(work.plans.size(), [&](size_t c) {
    auto& instances = work.joins[c].instances;
    SortAndNumber(instances);
    for (JoinedInstance& j : instances) {
      FillWords(j, Contains(all_pairs[c], j), work.plans[c].info.size, out.clock);
      arrivals[c].push_back(ArrivalsOf(j, out.clock));
    }
  });
  for (size_t c = 0; c < work.plans.size(); ++c) {
    for (size_t i = 0; i < work.joins[c].instances.size(); ++i) {
      MatchedInstance& instance = work.joins[c].instances[i].instance;
      for (size_t m = 0; m < instance.members.size(); ++m) {
        const MatchedMember& member = instance.members[m];
        out.arrivals[static_cast<size_t>(member.rank_index)][static_cast<size_t>(member.row)] = arrivals[c][i][m];
      }
      CountDrops(work.plans[c], instance, out);
      out.instances.push_back(std::move(instance));
    }
    out.communicators.push_back(std::move(work.plans[c].info));
    work.joins[c] = {};
  }
}

ClockModel MeasureRun(const Work& work, const std::vector<std::map<CollectiveOp, bool>>& all_pairs,
                      const DomainPlan& domains, Executor& executor) {
  std::vector<const MatchedInstance*> binding;
  for (size_t c = 0; c < work.plans.size(); ++c) {
    for (const JoinedInstance& j : work.joins[c].instances) {
      const bool binds = j.instance.members.size() == 2 || Contains(all_pairs[c], j);
      if (j.instance.matched() && j.instance.confidence >= 0.99 && binds) binding.push_back(&j.instance);
    }
  }
  return MeasureClocks(binding, domains.domain, work.rows, executor);
}

}  // namespace

std::string_view Name(MatchKind kind) {
  switch (kind) {
    case MatchKind::kId:
      return "id";
    case MatchKind::kOrder:
      return "order";
    case MatchKind::kInferred:
      return "inferred";
    case MatchKind::kAmbiguous:
      return "ambiguous";
    case MatchKind::kNone:
      return "none";
  }
  return "none";
}

absl::StatusOr<MatchResult> MatchRun(const RunData& run, InstanceSource& instances, const RankResolution& ranks,
                                     Executor& executor) {
  Work work{ranks, {}, {}, {}};
  LOCKSTEP_ASSIGN_OR_RETURN(work.rows, LoadCollectiveRows(run, instances, ranks));
  work.plans = PlanCommunicators(run, ranks, work.rows);
  const DomainPlan domains = JoinAndRefine(work, PlanDomains(run, ranks.ranks), executor);

  std::vector<std::map<CollectiveOp, bool>> all_pairs(work.plans.size());
  executor.ParallelFor(work.plans.size(),
                       [&](size_t c) { all_pairs[c] = AllPairsOps(work.joins[c], work, domains.domain); });

  MatchResult out;
  out.clock = MeasureRun(work, all_pairs, domains, executor);
  out.host_conflict = domains.host_conflict;
  out.rank_drops.resize(ranks.ranks.size());
  for (size_t r = 0; r < ranks.ranks.size(); ++r) {
    out.arrivals.emplace_back(work.rows[r].rows.size());
    out.host_sources.push_back(domains.assumed_host[r] ? HostSource::kAssumed : ranks.ranks[r].host_source);
  }
  Emit(work, all_pairs, executor, out);
  for (const DropCounters& drops : out.rank_drops) out.drops.Merge(drops);
  return out;
}

}  // namespace lockstep
