#include "analysis/metrics/run/host_domains.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>

namespace lockstep {
namespace {

using DomainKey = std::tuple<DomainBasis, std::string, std::string, int64_t>;

DomainKey DomainKeyOf(const SourceContext& c, const ResolvedRank& rank, size_t index) {
  // A session without a discriminator is at least one file.
  if (c.format == "nsys") return {DomainBasis::kSession, rank.host, c.session.empty() ? c.path : c.session, 0};
  if (!rank.host.empty()) return {DomainBasis::kHost, rank.host, c.session, 0};
  if (!c.session.empty()) return {DomainBasis::kSession, "", c.session, 0};
  return {DomainBasis::kUnknownHost, "", "", c.device < 0 ? static_cast<int64_t>(index) + 1 : 0};
}

bool DevicesDistinct(const RunData& run, const std::vector<ResolvedRank>& ranks, const std::vector<int32_t>& members) {
  std::set<int32_t> devices;
  return std::all_of(members.begin(), members.end(), [&](int32_t r) {
    return devices.insert(run.sources[ranks[static_cast<size_t>(r)].source].context.device).second;
  });
}

// Numbers arbitrary labels densely in order of first appearance.
std::vector<int32_t> Renumber(const std::vector<int64_t>& labels) {
  std::map<int64_t, int32_t> number;
  std::vector<int32_t> out;
  for (const int64_t label : labels) {
    out.push_back(number.emplace(label, static_cast<int32_t>(number.size())).first->second);
  }
  return out;
}

class UnionFind {
 public:
  explicit UnionFind(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t Find(size_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void Join(size_t a, size_t b) { parent_[std::max(Find(a), Find(b))] = std::min(Find(a), Find(b)); }

 private:
  std::vector<size_t> parent_;
};

std::map<int32_t, std::vector<int32_t>> MembersByDomain(const DomainPlan& plan) {
  std::map<int32_t, std::vector<int32_t>> out;
  for (size_t i = 0; i < plan.domain.size(); ++i) out[plan.domain[i]].push_back(static_cast<int32_t>(i));
  return out;
}

// The evidence, folded: which ranks it connects, which planned domains it refutes.
class ClockVerdicts {
 public:
  ClockVerdicts(const DomainPlan& plan, const std::vector<ClockEvidence>& evidence) : connected_(plan.domain.size()) {
    for (const ClockEvidence& e : evidence) {
      const auto a = static_cast<size_t>(e.rank_a);
      const auto b = static_cast<size_t>(e.rank_b);
      if (plan.domain[a] != plan.domain[b]) continue;
      if (e.one_clock) {
        connected_.Join(a, b);
      } else {
        refuted_.insert(plan.domain[a]);
      }
    }
  }

  [[nodiscard]] bool Refuted(int32_t domain) const { return refuted_.count(domain) > 0; }
  [[nodiscard]] size_t Part(int32_t rank_index) { return connected_.Find(static_cast<size_t>(rank_index)); }
  [[nodiscard]] bool Connected(const std::vector<int32_t>& members) {
    return std::all_of(members.begin(), members.end(), [&](int32_t r) { return Part(r) == Part(members.front()); });
  }

 private:
  UnionFind connected_;
  std::set<int32_t> refuted_;
};

}  // namespace

DomainPlan PlanDomains(const RunData& run, const std::vector<ResolvedRank>& ranks) {
  std::map<DomainKey, std::vector<int32_t>> by_key;
  for (size_t i = 0; i < ranks.size(); ++i) {
    by_key[DomainKeyOf(run.sources[ranks[i].source].context, ranks[i], i)].push_back(static_cast<int32_t>(i));
  }
  DomainPlan plan;
  plan.basis.resize(ranks.size());
  plan.assumed_host.resize(ranks.size(), false);
  std::vector<int64_t> labels(ranks.size());
  int64_t next = 0;
  for (const auto& [key, members] : by_key) {
    const bool unknown = std::get<0>(key) == DomainBasis::kUnknownHost;
    const bool together = !unknown || (members.size() > 1 && DevicesDistinct(run, ranks, members));
    for (const int32_t r : members) {
      plan.basis[static_cast<size_t>(r)] = together ? std::get<0>(key) : DomainBasis::kAlone;
      labels[static_cast<size_t>(r)] = together ? next : next++;
    }
    ++next;
  }
  plan.domain = Renumber(labels);
  return plan;
}

DomainPlan RefineDomains(const DomainPlan& plan, const std::vector<ClockEvidence>& evidence) {
  ClockVerdicts verdicts(plan, evidence);
  DomainPlan out = plan;
  const auto ranks = static_cast<int64_t>(plan.domain.size());
  std::vector<int64_t> labels(plan.domain.begin(), plan.domain.end());
  for (const auto& [domain, members] : MembersByDomain(plan)) {
    const DomainBasis basis = plan.basis[static_cast<size_t>(members.front())];
    const bool refuted = verdicts.Refuted(domain);
    const bool confirmed = basis == DomainBasis::kUnknownHost && !refuted && verdicts.Connected(members);
    const bool split = basis == DomainBasis::kHost && refuted;
    out.host_conflict = out.host_conflict || split;
    for (const int32_t r : members) {
      const auto i = static_cast<size_t>(r);
      out.assumed_host[i] = confirmed;
      if (split) labels[i] = ranks + static_cast<int64_t>(verdicts.Part(r));
      if (basis != DomainBasis::kUnknownHost || confirmed) continue;
      labels[i] = ranks + r;
      out.basis[i] = DomainBasis::kAlone;
    }
  }
  out.domain = Renumber(labels);
  return out;
}

}  // namespace lockstep
