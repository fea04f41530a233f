#include "analysis/metrics/match/join/id_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxChangeNs = 50'000;
constexpr size_t kMinConfirmation = 3;
constexpr size_t kMinRefutingInstances = 8;

using Sequence = std::map<size_t, OrderedInstance>;  // by the place of the joined instance

// Change of the ends' distance from one instance to the next: drift leaves it small, a wrong partner does not.
int64_t MedianChange(const std::vector<OrderedInstance>& a, const std::vector<OrderedInstance>& b) {
  std::vector<int64_t> changes;
  for (size_t i = 1; i < a.size(); ++i) {
    changes.push_back(std::abs((b[i].end_ns - a[i].end_ns) - (b[i - 1].end_ns - a[i - 1].end_ns)));
  }
  return UpperMedian(std::move(changes));
}

int64_t MedianDistance(const std::vector<OrderedInstance>& a, const std::vector<OrderedInstance>& b) {
  std::vector<int64_t> distances;
  for (size_t i = 0; i < a.size(); ++i) distances.push_back(b[i].end_ns - a[i].end_ns);
  return UpperMedian(std::move(distances));
}

class ClockTester {
 public:
  ClockTester(const JoinInput& input, const std::vector<JoinedInstance>& joined) : input_(input) {
    for (const JoinedInstance& j : joined) {
      if (!IsAllPairs(j.instance.op)) continue;
      for (const MatchedMember& m : j.instance.members) {
        sequences_[m.rank_index].emplace(j.place, OrderedInstance{m.start_ns, m.end_ns, true});
      }
    }
  }

  std::vector<ClockEvidence> Run() {
    std::map<int32_t, std::vector<int32_t>> domains;
    for (const auto& [rank, sequence] : sequences_) domains[input_.domain[static_cast<size_t>(rank)]].push_back(rank);
    for (auto& [domain, ranks] : domains) {
      while (ranks.size() > 1) ranks = TakeClock(ranks);
    }
    if (std::all_of(out_.begin(), out_.end(), [](const ClockEvidence& e) { return e.one_clock; })) out_.clear();
    return std::move(out_);
  }

 private:
  // Tests all against the first; returns those on other clocks.
  std::vector<int32_t> TakeClock(const std::vector<int32_t>& ranks) {
    std::vector<int32_t> others;
    for (size_t i = 1; i < ranks.size(); ++i) {
      const std::optional<bool> one_clock = OneClock(ranks.front(), ranks[i]);
      if (!one_clock) continue;
      out_.push_back({ranks.front(), ranks[i], *one_clock});
      if (!*one_clock) others.push_back(ranks[i]);
    }
    return others;
  }

  [[nodiscard]] std::optional<bool> OneClock(int32_t rank_a, int32_t rank_b) const {
    std::vector<OrderedInstance> a;
    std::vector<OrderedInstance> b;
    const Sequence& theirs = sequences_.at(rank_b);
    for (const auto& [instance, own] : sequences_.at(rank_a)) {
      const auto at = theirs.find(instance);
      if (at == theirs.end()) continue;
      a.push_back(own);
      b.push_back(at->second);
    }
    if (a.size() < kMinConfirmation) return std::nullopt;
    const int64_t tick =
        std::max(input_.rows[static_cast<size_t>(rank_a)].tick_ns, input_.rows[static_cast<size_t>(rank_b)].tick_ns);
    const ShiftVerdict verdict = FindShift(a, b, PairRelation::kCommonPoint, tick);
    if (verdict.common_rate >= kMinCommonRate) {
      const bool sure = verdict.shift == 0 && verdict.end_residual_ns <= kMaxEndResidualNs;
      return sure ? std::optional(true) : std::nullopt;
    }
    const bool refuted = a.size() >= kMinRefutingInstances && MedianChange(a, b) <= kMaxChangeNs &&
                         std::abs(MedianDistance(a, b)) > kMaxBiasDifferenceNs;
    return refuted ? std::optional(false) : std::nullopt;
  }

  const JoinInput& input_;
  std::map<int32_t, Sequence> sequences_;  // by rank index
  std::vector<ClockEvidence> out_;
};

}  // namespace

std::vector<ClockEvidence> ClocksByIds(const JoinInput& input, const std::vector<JoinedInstance>& joined) {
  return ClockTester(input, joined).Run();
}

}  // namespace lockstep
