#include "analysis/metrics/match/certificate.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxEndResidualNs = 50'000;
constexpr int64_t kMinEvidence = 3;
constexpr int64_t kMinRefutation = 8;

struct PairRecord {
  std::vector<int64_t> end_differences;
  int64_t centre_ns = 0;
  int64_t common = 0;
};

class Certifier {
 public:
  Certifier(const std::vector<const MatchedInstance*>& instances, const std::vector<int32_t>& domain,
            const std::vector<RankRows>& rows)
      : instances_(instances), domain_(domain), rows_(rows) {}

  Certificate Run() {
    for (const MatchedInstance* instance : instances_) FindReferences(*instance);
    for (const MatchedInstance* instance : instances_) CollectEnds(*instance);
    for (auto& [rank, pair] : pairs_) {
      pair.centre_ns = std::clamp(UpperMedian(pair.end_differences), -kMaxClockBiasNs, kMaxClockBiasNs);
    }
    Certificate out;
    for (const MatchedInstance* instance : instances_) Check(*instance, out);
    AddEvidence(out);
    return out;
  }

 private:
  [[nodiscard]] int32_t DomainOf(const MatchedMember& m) const { return domain_[static_cast<size_t>(m.rank_index)]; }

  // The lowest rank of each domain that occurs at all.
  void FindReferences(const MatchedInstance& instance) {
    if (instance.members.size() < 2) return;
    for (const MatchedMember& m : instance.members) {
      const auto [at, fresh] = reference_.emplace(DomainOf(m), m.rank_index);
      if (!fresh) at->second = std::min(at->second, m.rank_index);
    }
  }

  // The domain's reference among the members, or null.
  [[nodiscard]] const MatchedMember* ReferenceOf(const MatchedInstance& instance, const MatchedMember& member) const {
    const int32_t reference = reference_.at(DomainOf(member));
    for (const MatchedMember& m : instance.members) {
      if (m.rank_index == reference && m.rank_index != member.rank_index) return &m;
    }
    return nullptr;
  }

  void CollectEnds(const MatchedInstance& instance) {
    if (instance.members.size() < 2) return;
    for (const MatchedMember& m : instance.members) {
      const MatchedMember* reference = ReferenceOf(instance, m);
      if (reference != nullptr) pairs_[m.rank_index].end_differences.push_back(m.end_ns - reference->end_ns);
    }
  }

  [[nodiscard]] int64_t CentreOf(const MatchedMember& m) const {
    const auto at = pairs_.find(m.rank_index);
    return at == pairs_.end() ? 0 : at->second.centre_ns;
  }

  struct Meeting {
    int64_t last_start = INT64_MIN;
    int64_t first_end = INT64_MAX;
    int64_t tick_ns = 0;
    int members = 0;
    [[nodiscard]] bool common() const { return last_start <= first_end + 2 * tick_ns; }
  };

  void Include(const MatchedMember& m, Meeting& meeting) const {
    meeting.last_start = std::max(meeting.last_start, m.start_ns - CentreOf(m));
    meeting.first_end = std::min(meeting.first_end, m.end_ns - CentreOf(m));
    meeting.tick_ns = std::max(meeting.tick_ns, rows_[static_cast<size_t>(m.rank_index)].tick_ns);
    ++meeting.members;
  }

  void Check(const MatchedInstance& instance, Certificate& out) {
    if (instance.members.size() < 2) return;
    std::map<int32_t, Meeting> meetings;
    for (const MatchedMember& m : instance.members) {
      Include(m, meetings[DomainOf(m)]);
      const MatchedMember* reference = ReferenceOf(instance, m);
      if (reference == nullptr) continue;
      Meeting pair;
      Include(m, pair);
      Include(*reference, pair);
      pairs_[m.rank_index].common += pair.common() ? 1 : 0;
    }
    const auto together = [](const auto& entry) { return entry.second.members > 1; };
    if (std::none_of(meetings.begin(), meetings.end(), together)) return;
    ++out.checked;
    const bool common = std::all_of(meetings.begin(), meetings.end(), [](const auto& e) { return e.second.common(); });
    out.common += common ? 1 : 0;
  }

  void AddEvidence(Certificate& out) const {
    for (const auto& [rank, pair] : pairs_) {
      const auto n = static_cast<int64_t>(pair.end_differences.size());
      std::vector<int64_t> distances = pair.end_differences;
      for (int64_t& d : distances) d = std::abs(d);
      const bool one_clock = static_cast<double>(pair.common) >= kMinCommonRate * static_cast<double>(n) &&
                             UpperMedian(std::move(distances)) <= kMaxEndResidualNs;
      if (n < (one_clock ? kMinEvidence : kMinRefutation)) continue;
      out.evidence.push_back({reference_.at(domain_[static_cast<size_t>(rank)]), rank, one_clock});
    }
  }

  const std::vector<const MatchedInstance*>& instances_;
  const std::vector<int32_t>& domain_;
  const std::vector<RankRows>& rows_;
  std::map<int32_t, int32_t> reference_;  // domain -> rank index
  std::map<int32_t, PairRecord> pairs_;   // by rank index, against its reference
};

}  // namespace

Certificate Certify(const std::vector<const MatchedInstance*>& instances, const std::vector<int32_t>& domain,
                    const std::vector<RankRows>& rows) {
  return Certifier(instances, domain, rows).Run();
}

bool MayBeAllPairs(CollectiveOp op) {
  return IsAllPairs(op) || op == CollectiveOp::kUnknown || op == CollectiveOp::kSendRecv ||
         op == CollectiveOp::kAllToAllV || op == CollectiveOp::kAllGatherV;
}

}  // namespace lockstep
