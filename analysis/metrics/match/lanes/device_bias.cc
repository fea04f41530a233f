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
#include "analysis/model/collective.h"
#include "analysis/stats/order_statistic.h"

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

// What the first lane's ends read more than the other's.
int64_t OffsetOf(const LaneShift& shift) { return shift.knots[shift.knots.size() / 2].offset_ns; }

// Whether a constant distance of ends is one of clocks. Members of an exchange may move unequal amounts, and then the
// one that moves more ends later: its own kernel is longer by the same distance where it arrives last and waits for
// nobody. So each of the two must have been last a few times.
bool LastOnesTakeEquallyLong(const RankLane& first, const RankLane& other, const LaneShift& shift) {
  constexpr size_t kFewest = 8;
  const int64_t offset_ns = OffsetOf(shift);
  std::vector<double> first_ns;  // durations of the one that arrived last
  std::vector<double> other_ns;
  auto partner = other.events.begin();
  for (const LaneEvent& event : first.events) {
    const int64_t end_ns = event.end_ns - offset_ns;
    while (partner != other.events.end() && partner->end_ns < end_ns - kLargestDeviationNs) ++partner;
    if (partner == other.events.end()) break;
    if (partner->end_ns > end_ns + kLargestDeviationNs || partner->kind != event.kind) continue;
    const bool first_is_last = event.start_ns - offset_ns > partner->start_ns;
    const LaneEvent& last = first_is_last ? event : *partner;
    (first_is_last ? first_ns : other_ns).push_back(static_cast<double>(last.end_ns - last.start_ns));
  }
  if (std::min(first_ns.size(), other_ns.size()) < kFewest) return false;
  return 2 * std::abs(Median(std::move(first_ns)) - Median(std::move(other_ns))) <
         static_cast<double>(std::abs(offset_ns));
}

std::optional<LaneShift> ConstantShift(const RankLane& first, const RankLane& other, bool exchanges) {
  std::optional<LaneShift> shift =
      FindLaneShift(first.events, other.events, {0, kLargestNs, std::max(first.tick_ns, other.tick_ns), false});
  if (!shift || !shift->accepted || shift->jumps > 0 || shift->knots.empty()) return std::nullopt;
  if (shift->deviation_ns > kLargestDeviationNs) return std::nullopt;
  if (exchanges && !LastOnesTakeEquallyLong(first, other, *shift)) return std::nullopt;
  return shift;
}

// Whether any of the plan's rows may be an exchange.
bool HasExchanges(const CommunicatorPlan& plan, const std::vector<RankRows>& rows) {
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    const std::vector<CollectiveRow>& of_rank = rows[static_cast<size_t>(plan.ranks[m])].rows;
    const auto is_exchange = [&](uint32_t row) { return of_rank[row].op == CollectiveOp::kSendRecv; };
    if (std::any_of(plan.rows[m].begin(), plan.rows[m].end(), is_exchange)) return true;
  }
  return false;
}

}  // namespace

std::vector<int64_t> FindLargeBiases(const std::vector<CommunicatorPlan>& plans, const DomainPlan& domains,
                                     const std::vector<RankRows>& rows, Executor& executor) {
  std::vector<RankLane> lanes;
  std::vector<bool> exchanges;  // by lane
  const ClockModel clock = OneClockADomain(domains);
  std::vector<PlanLanes> found(plans.size());
  executor.ParallelFor(plans.size(),
                       [&](size_t c) { found[c] = LanesOf(WithComparableEnds(plans[c], rows), c, rows, clock); });
  for (size_t c = 0; c < plans.size(); ++c) {
    std::move(found[c].lanes.begin(), found[c].lanes.end(), std::back_inserter(lanes));
    found[c] = {};
    exchanges.resize(lanes.size(), HasExchanges(plans[c], rows));
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
      shifts[l] = ConstantShift(lanes[reference[l]], lanes[l], exchanges[l]);
    }
  });
  std::vector<int64_t> biases(rows.size(), 0);
  std::vector<int64_t> pairs(rows.size(), 0);
  for (size_t l = 0; l < lanes.size(); ++l) {
    const auto rank = static_cast<size_t>(lanes[l].rank_index);
    if (!shifts[l] || shifts[l]->pairs <= pairs[rank]) continue;
    const int64_t bias = -OffsetOf(*shifts[l]);
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
