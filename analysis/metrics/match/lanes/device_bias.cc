#include "analysis/metrics/match/lanes/device_bias.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/lanes/lane_shift.h"
#include "analysis/metrics/match/lanes/membership.h"

namespace lockstep {
namespace {

constexpr int64_t kAllowedByJoinsNs = 12'000;
constexpr int64_t kLargestNs = 100'000;
constexpr int64_t kLargestDeviationNs = 3'000;

ClockModel OneClockADomain(const DomainPlan& domains) {
  ClockModel clock;
  for (size_t r = 0; r < domains.domain.size(); ++r) {
    clock.SetDomain(static_cast<int32_t>(r), DomainId{domains.domain[r]});
  }
  return clock;
}

std::optional<LaneShift> ConstantShift(const RankLane& first, const RankLane& other) {
  const std::optional<LaneShift> shift =
      FindLaneShift(first.events, other.events, {0, kLargestNs, std::max(first.tick_ns, other.tick_ns), false});
  if (!shift || !shift->accepted || shift->jumps > 0 || shift->knots.empty()) return std::nullopt;
  if (shift->deviation_ns > kLargestDeviationNs) return std::nullopt;
  return shift;
}

}  // namespace

std::vector<int64_t> FindLargeBiases(const std::vector<CommunicatorPlan>& plans, const DomainPlan& domains,
                                     const std::vector<RankRows>& rows, Executor& executor) {
  std::vector<RankLane> lanes;
  const ClockModel clock = OneClockADomain(domains);
  std::vector<PlanLanes> found(plans.size());
  executor.ParallelFor(plans.size(),
                       [&](size_t c) { found[c] = LanesOf(WithComparableEnds(plans[c], rows), c, rows, clock); });
  for (PlanLanes& of_plan : found) {
    std::move(of_plan.lanes.begin(), of_plan.lanes.end(), std::back_inserter(lanes));
    of_plan = {};
  }
  // The first lane of every class in every session: lanes come by rank.
  std::map<std::pair<int32_t, uint64_t>, size_t> first;
  std::vector<std::optional<LaneShift>> shifts(lanes.size());
  std::vector<size_t> reference(lanes.size());
  for (size_t l = 0; l < lanes.size(); ++l) {
    const auto rank = static_cast<size_t>(lanes[l].rank_index);
    reference[l] = first.emplace(std::pair(domains.domain[rank], lanes[l].cls), l).first->second;
  }
  executor.ParallelFor(lanes.size(), [&](size_t l) {
    const bool session = domains.basis[static_cast<size_t>(lanes[l].rank_index)] == DomainBasis::kSession;
    if (session && reference[l] != l && lanes[reference[l]].rank_index != lanes[l].rank_index) {
      shifts[l] = ConstantShift(lanes[reference[l]], lanes[l]);
    }
  });
  std::vector<int64_t> biases(rows.size(), 0);
  std::vector<int64_t> pairs(rows.size(), 0);
  for (size_t l = 0; l < lanes.size(); ++l) {
    const auto rank = static_cast<size_t>(lanes[l].rank_index);
    if (!shifts[l] || shifts[l]->pairs <= pairs[rank]) continue;
    const std::vector<OffsetKnot>& knots = shifts[l]->knots;
    const int64_t bias = -knots[knots.size() / 2].offset_ns;
    pairs[rank] = shifts[l]->pairs;
    biases[rank] = std::abs(bias) > kAllowedByJoinsNs ? bias : 0;
  }
  return biases;
}

void MoveRows(const std::vector<int64_t>& by_ns, std::vector<RankRows>& rows) {
  for (size_t r = 0; r < rows.size(); ++r) {
    if (by_ns[r] == 0) continue;
    for (CollectiveRow& row : rows[r].rows) {
      row.start_ns += by_ns[r];
      row.end_ns += by_ns[r];
    }
  }
}

}  // namespace lockstep
