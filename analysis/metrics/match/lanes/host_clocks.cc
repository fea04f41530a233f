#include "analysis/metrics/match/lanes/host_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/lanes/lane_shift.h"
#include "analysis/metrics/match/lanes/membership.h"
#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

constexpr int64_t kHostShiftReachNs = 1'000'000'000;
constexpr size_t kHostSampleEnds = 512;
constexpr double kMeets = 0.8;  // share of the ends that do

using LanesOfRank = std::map<uint64_t, RankLane>;  // by number of the plan

class HostTester {
 public:
  HostTester(const std::vector<CommunicatorPlan>& plans, const DomainPlan& domains, const std::vector<RankRows>& rows,
             Executor& executor)
      : executor_(executor) {
    ClockModel clock;
    for (size_t r = 0; r < domains.domain.size(); ++r) {
      clock.SetDomain(static_cast<int32_t>(r), DomainId{domains.domain[r]});
    }
    std::vector<PlanLanes> found(plans.size());
    executor.ParallelFor(plans.size(), [&](size_t c) {
      if (plans[c].membership == Membership::kKnown)
        found[c] = LanesOf(WithComparableEnds(plans[c], rows), c, rows, clock);
    });
    for (size_t c = 0; c < plans.size(); ++c) {
      for (RankLane& lane : found[c].lanes) {
        const auto rank = static_cast<size_t>(lane.rank_index);
        if (domains.basis[rank] != DomainBasis::kHost) continue;
        lanes_[domains.domain[rank]][lane.rank_index].emplace(c, std::move(lane));
      }
      found[c] = {};
    }
  }

  std::vector<ClockEvidence> Run() const {
    std::vector<const LanesByRank*> domains;
    for (const auto& [domain, lanes] : lanes_) domains.push_back(&lanes);
    std::vector<std::vector<ClockEvidence>> found(domains.size());
    executor_.ParallelFor(domains.size(), [&](size_t d) { found[d] = EvidenceOf(*domains[d]); });
    std::vector<ClockEvidence> out;
    for (const std::vector<ClockEvidence>& of_domain : found) out.insert(out.end(), of_domain.begin(), of_domain.end());
    return out;
  }

 private:
  using LanesByRank = std::map<int32_t, LanesOfRank>;

  // Of one domain; nothing where no pair is on two clocks.
  static std::vector<ClockEvidence> EvidenceOf(const LanesByRank& lanes) {
    std::vector<int32_t> ranks;
    for (const auto& [rank, of_rank] : lanes) ranks.push_back(rank);
    std::vector<ClockEvidence> found;
    while (ranks.size() > 1) ranks = TakeClock(lanes, ranks, found);
    const bool refuted = std::any_of(found.begin(), found.end(), [](const ClockEvidence& e) { return !e.one_clock; });
    return refuted ? found : std::vector<ClockEvidence>{};
  }

  // Tests all against the first; returns those that are not known to be on its clock.
  static std::vector<int32_t> TakeClock(const LanesByRank& lanes, const std::vector<int32_t>& ranks,
                                        std::vector<ClockEvidence>& found) {
    std::vector<int32_t> others;
    for (size_t i = 1; i < ranks.size(); ++i) {
      const std::optional<bool> one_clock = OneClock(lanes.at(ranks.front()), lanes.at(ranks[i]));
      if (one_clock) found.push_back({ranks.front(), ranks[i], *one_clock});
      if (!one_clock.value_or(false)) others.push_back(ranks[i]);
    }
    return others;
  }

  static std::optional<bool> OneClock(const LanesOfRank& a, const LanesOfRank& b) {
    std::optional<bool> refuted;
    for (const auto& [plan, lane] : a) {
      const auto at = b.find(plan);
      if (at == b.end() || lane.events.empty() || at->second.events.empty()) continue;
      const std::optional<LaneShift> here =
          CompareLanes(lane.events, at->second.events, {kMaxBiasDifferenceNs, kHostSampleEnds, true, false, false});
      if (!here) continue;
      if (Meet(*here)) return true;
      refuted = OnTwoClocks(lane, at->second, refuted);
    }
    return refuted;
  }

  static bool Meet(const LaneShift& shift) { return shift.coverage >= kMeets && shift.common_rate >= kMinCommonRate; }

  static std::optional<bool> OnTwoClocks(const RankLane& a, const RankLane& b, std::optional<bool> before) {
    const std::optional<LaneShift> moved =
        FindLaneShift(a.events, b.events, {0, kHostShiftReachNs, std::max(a.tick_ns, b.tick_ns), true});
    const bool far = moved && moved->accepted && Meet(*moved) && !moved->knots.empty() &&
                     std::all_of(moved->knots.begin(), moved->knots.end(),
                                 [](const OffsetKnot& k) { return std::abs(k.offset_ns) > kMaxBiasDifferenceNs; });
    return far ? std::optional(false) : before;
  }

  Executor& executor_;
  std::map<int32_t, LanesByRank> lanes_;  // by domain
};

}  // namespace

std::vector<ClockEvidence> ClocksOfHosts(const std::vector<CommunicatorPlan>& plans, const DomainPlan& domains,
                                         const std::vector<RankRows>& rows, Executor& executor) {
  return HostTester(plans, domains, rows, executor).Run();
}

}  // namespace lockstep
