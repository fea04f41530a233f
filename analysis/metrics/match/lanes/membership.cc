#include "analysis/metrics/match/lanes/membership.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/base/hash128.h"
#include "analysis/metrics/match/lanes/exchange_blocks.h"
#include "analysis/metrics/match/lanes/exchange_links.h"
#include "analysis/metrics/match/lanes/lane_sets.h"
#include "analysis/metrics/match/order_score.h"

namespace lockstep {
namespace {

constexpr double kMinLinkedShare = 0.9;

constexpr uint64_t kExchangeClass = uint64_t{1} << static_cast<uint32_t>(CollectiveOp::kSendRecv);

uint32_t EventKindOf(const CollectiveRow& row) {
  const auto op = IsPointToPoint(row.op) ? CollectiveOp::kSendRecv : row.op;
  return static_cast<uint32_t>(op) * 256 + static_cast<uint32_t>(row.dtype);
}

// The operations that make up a lane: those of at least a twentieth of its rows.
uint64_t LaneClassOf(const std::vector<LaneEvent>& events) {
  constexpr size_t kShare = 20;
  std::map<uint32_t, size_t> count;
  for (const LaneEvent& e : events) ++count[e.kind / 256];
  uint64_t out = 0;
  for (const auto& [op, n] : count) {
    if (n * kShare >= events.size()) out |= uint64_t{1} << (op % 64);
  }
  return out;
}

RankLane MakeLane(int32_t rank_index, const std::vector<uint32_t>& indices, const RankRows& rows) {
  RankLane lane;
  lane.rank_index = rank_index;
  lane.tick_ns = rows.tick_ns;
  for (const uint32_t i : indices) {
    const CollectiveRow& row = rows.rows[i];
    lane.events.push_back({row.start_ns, row.end_ns, EventKindOf(row)});
  }
  std::stable_sort(lane.events.begin(), lane.events.end(),
                   [](const LaneEvent& a, const LaneEvent& b) { return a.end_ns < b.end_ns; });
  lane.cls = LaneClassOf(lane.events);
  return lane;
}

// Position of a rank among those of its domain.
int32_t PositionOf(int32_t rank_index, const ClockModel& clock) {
  int32_t position = 0;
  for (int32_t r = 0; r < rank_index; ++r) position += clock.DomainOf(r) == clock.DomainOf(rank_index) ? 1 : 0;
  return position;
}

// Whether a set is all of its communicator. Ranks that are not here may belong to any set: then only the largest sets
// that divide the world count as whole.
bool IsWhole(const std::vector<size_t>& set, const std::vector<std::vector<size_t>>& sets, const PlanLanes& found,
             const RankResolution& ranks) {
  if (!LacksPartners(ranks)) return true;
  if (static_cast<size_t>(LeastWorldSize(ranks)) % set.size() != 0) return false;
  return std::all_of(sets.begin(), sets.end(), [&](const std::vector<size_t>& other) {
    return found.lanes[other.front()].cls != found.lanes[set.front()].cls || other.size() <= set.size();
  });
}

std::set<int32_t> RanksOfSet(const std::vector<size_t>& set, const PlanLanes& found) {
  std::set<int32_t> ranks;
  for (const size_t l : set) ranks.insert(found.lanes[l].rank_index);
  return ranks;
}

size_t RowsOf(const std::vector<size_t>& set, const PlanLanes& found) {
  size_t rows = 0;
  for (const size_t l : set) rows += found.rows[l].size();
  return rows;
}

// A second set of the same ranks with fewer rows, while other hosts whose clocks are not connected have ranks like
// these: most likely the part of a wider communicator that one host sees. Who else is in it cannot be told.
bool MayBeAPart(const std::vector<size_t>& set, const std::vector<std::vector<size_t>>& sets, const PlanLanes& found,
                const ClockModel& clock) {
  const auto component = [&](size_t l) { return clock.ComponentOf(found.lanes[l].rank_index); };
  const bool others = std::any_of(sets.begin(), sets.end(), [&](const std::vector<size_t>& other) {
    return component(other.front()) != component(set.front()) && RowsOf(other, found) == RowsOf(set, found);
  });
  if (!others) return false;
  const std::set<int32_t> ranks = RanksOfSet(set, found);
  return std::any_of(sets.begin(), sets.end(), [&](const std::vector<size_t>& other) {
    return RowsOf(other, found) > RowsOf(set, found) && RanksOfSet(other, found) == ranks;
  });
}

CommunicatorPlan PlanOf(const std::vector<size_t>& set, bool whole, const PlanLanes& found,
                        const RankResolution& ranks) {
  CommunicatorPlan plan;
  plan.membership = Membership::kInferred;
  plan.discovered = true;
  plan.info.inferred = true;
  for (const size_t l : set) {
    plan.ranks.push_back(found.lanes[l].rank_index);
    plan.rows.push_back(found.rows[l]);
    plan.info.members.push_back(ranks.ranks[static_cast<size_t>(found.lanes[l].rank_index)].rank);
  }
  plan.info.size = whole ? static_cast<int32_t>(plan.info.members.size()) : -1;
  return plan;
}

// The set that the busiest lane of a rank is in, beside those of exchanges: what keeps it in step with others, as its
// tensor group does. By rank; not of sets that hold all ranks.
std::map<int32_t, std::set<int32_t>> MainGroups(const std::vector<std::vector<size_t>>& sets, const PlanLanes& found) {
  std::set<int32_t> all;
  std::map<int32_t, size_t> busiest;  // lane, by rank; none of a rank that does nothing but exchange
  for (size_t l = 0; l < found.lanes.size(); ++l) {
    all.insert(found.lanes[l].rank_index);
    if (found.lanes[l].cls == kExchangeClass) continue;
    size_t& lane = busiest.try_emplace(found.lanes[l].rank_index, l).first->second;
    if (found.rows[l].size() > found.rows[lane].size()) lane = l;
  }
  std::map<int32_t, std::set<int32_t>> out;
  for (const std::vector<size_t>& set : sets) {
    const std::set<int32_t> ranks = RanksOfSet(set, found);
    if (ranks.size() == all.size()) continue;
    for (const size_t l : set) {
      const auto of_rank = busiest.find(found.lanes[l].rank_index);
      if (of_rank != busiest.end() && of_rank->second == l) out[of_rank->first] = ranks;
    }
  }
  return out;
}

// Sets of lanes of nothing but exchanges that hang together through their pairs. `sets`: of other lanes, which are
// groups of ranks.
std::vector<std::vector<size_t>> FindExchangers(const PlanLanes& found, const std::vector<std::vector<size_t>>& sets,
                                                const std::set<size_t>& taken, const ClockModel& clock) {
  const std::map<int32_t, std::set<int32_t>> groups = MainGroups(sets, found);
  std::vector<size_t> number;
  std::vector<ExchangeLane> lanes;
  for (size_t l = 0; l < found.lanes.size(); ++l) {
    if (taken.count(l) > 0 || found.lanes[l].cls != kExchangeClass) continue;
    const int32_t rank = found.lanes[l].rank_index;
    number.push_back(l);
    lanes.push_back({rank, clock.ComponentOf(rank), found.lanes[l].events});
    if (const auto group = groups.find(rank); group != groups.end()) {
      const std::set<int32_t>& members = group->second;
      const auto place = static_cast<int32_t>(std::distance(members.begin(), members.find(rank)));
      lanes.back().place = {*members.begin(), place, members.size()};
    }
    for (LaneEvent& e : lanes.back().events) {
      const int64_t correction = clock.Correction(rank, LocalTime{e.end_ns}).ns;
      e.start_ns -= correction;
      e.end_ns -= correction;
    }
  }
  // Where the partner may be a rank whose clock nothing connects, the nearest end is that of a rank in lockstep.
  const bool one_clock = std::all_of(
      lanes.begin(), lanes.end(), [&](const ExchangeLane& lane) { return lane.component == lanes.front().component; });
  if (!one_clock) return {};
  std::vector<std::vector<size_t>> out;
  const std::vector<ExchangeLink> links = FindExchangeLinks(lanes);
  std::vector<std::vector<size_t>> connected = ConnectedLanes(lanes.size(), links);
  const bool all = connected.size() == 1 && connected.front().size() == lanes.size();
  const bool as_pairs = all || LinkStages(lanes, links);
  if (!as_pairs && MayBeOneExchange(lanes)) return {};
  for (std::vector<size_t>& set : connected) {
    // Rows that nobody answers: ranks that are not here, or no pairs at all.
    const bool explained =
        std::all_of(set.begin(), set.end(), [&](size_t l) { return LinkedShare(lanes, links, l) >= kMinLinkedShare; });
    if (!explained) continue;
    std::set<int32_t> ranks;
    for (size_t& l : set) {
      l = number[l];
      ranks.insert(found.lanes[l].rank_index);
    }
    if (ranks.size() == set.size()) out.push_back(std::move(set));
  }
  return out;
}

// Sets of lanes of nothing but exchanges in which all members exchange with all.
std::vector<std::vector<size_t>> FindBlocks(const PlanLanes& found, const std::set<size_t>& taken,
                                            const RankResolution& ranks, const std::vector<RankRows>& rows,
                                            const ClockModel& clock) {
  std::vector<size_t> number;
  std::vector<BlockLane> lanes;
  std::set<int32_t> components;
  bool ascending = true;
  for (size_t l = 0; l < found.lanes.size(); ++l) {
    if (taken.count(l) > 0 || found.lanes[l].cls != kExchangeClass) continue;
    const int32_t rank = found.lanes[l].rank_index;
    ascending = ascending && (number.empty() || found.lanes[number.back()].rank_index < rank);
    number.push_back(l);
    components.insert(clock.ComponentOf(rank));
    BlockLane& lane =
        lanes.emplace_back(BlockLane{ranks.ranks[static_cast<size_t>(rank)].rank, clock.DomainOf(rank).value, {}});
    for (const uint32_t i : found.rows[l]) {
      const CollectiveRow& row = rows[static_cast<size_t>(rank)].rows[i];
      if (row.step == kNoStep) continue;
      const int64_t correction = clock.Correction(rank, LocalTime{row.end_ns}).ns;
      lane.rows.push_back({row.step, row.start_ns - correction, row.end_ns - correction});
    }
  }
  if (components.size() != 1 || !ascending) return {};  // or several lanes of one rank
  std::vector<std::vector<size_t>> out = FindExchangeBlocks(lanes);
  for (std::vector<size_t>& set : out) {
    for (size_t& l : set) l = number[l];
  }
  return out;
}

// What no communicator took.
CommunicatorPlan RestOf(const PlanLanes& found, const std::set<size_t>& taken) {
  std::map<int32_t, std::vector<uint32_t>> rows;
  for (size_t l = 0; l < found.lanes.size(); ++l) {
    if (taken.count(l) > 0) continue;
    auto& of_rank = rows[found.lanes[l].rank_index];
    of_rank.insert(of_rank.end(), found.rows[l].begin(), found.rows[l].end());
  }
  CommunicatorPlan plan;
  plan.membership = Membership::kUnknown;
  plan.info.inferred = true;
  for (auto& [rank, indices] : rows) {
    std::sort(indices.begin(), indices.end());
    plan.ranks.push_back(rank);
    plan.rows.push_back(std::move(indices));
  }
  return plan;
}

}  // namespace

PlanLanes LanesOf(const CommunicatorPlan& plan, uint64_t plan_number, const std::vector<RankRows>& rows,
                  const ClockModel& clock) {
  const bool told = plan.membership == Membership::kKnown;
  PlanLanes out;
  for (size_t m = 0; m < plan.ranks.size(); ++m) {
    const RankRows& of_rank = rows[static_cast<size_t>(plan.ranks[m])];
    std::map<int32_t, std::vector<uint32_t>> by_stream;
    for (const uint32_t i : plan.rows[m]) by_stream[told ? 0 : of_rank.rows[i].stream].push_back(i);
    for (auto& [stream, indices] : by_stream) {
      RankLane lane = MakeLane(plan.ranks[m], indices, of_rank);
      if (told) lane.cls = (uint64_t{1} << 63) | plan_number;
      lane.told = told;
      lane.sole = told || (plan.membership == Membership::kInferred && by_stream.size() == 1);
      lane.position = PositionOf(plan.ranks[m], clock);
      out.lanes.push_back(std::move(lane));
      out.rows.push_back(std::move(indices));
    }
  }
  return out;
}

std::vector<CommunicatorPlan> DiscoverMembership(const CommunicatorPlan& plan, const RankResolution& ranks,
                                                 const std::vector<RankRows>& rows, const ClockModel& clock,
                                                 Executor& executor) {
  if (ranks.missing_ranks.size() > ranks.ranks.size()) return {plan};  // most partners are not here to be found
  const PlanLanes found = LanesOf(plan, 0, rows, clock);
  LaneSets lane_sets = FindLaneSets(found.lanes, clock, executor);
  std::vector<std::vector<size_t>>& sets = lane_sets.sets;
  // Ranks that exchange with neighbours in lockstep look like ranks that exchange with each other.
  std::erase_if(sets, [&](const std::vector<size_t>& set) {
    return set.size() < found.lanes.size() && found.lanes[set.front()].cls == kExchangeClass;
  });
  const std::vector<std::vector<size_t>> all = sets;
  std::erase_if(sets, [&](const std::vector<size_t>& set) { return MayBeAPart(set, all, found, clock); });
  const bool whole = sets.size() == 1 && sets.front().size() == found.lanes.size();
  const bool assumed = plan.membership == Membership::kInferred;
  if (whole && assumed) {
    CommunicatorPlan confirmed = plan;
    confirmed.discovered = true;
    return {std::move(confirmed)};
  }
  // Lanes too short to show anything refute no assumption.
  if (assumed && !lane_sets.telling) return {plan};
  std::vector<CommunicatorPlan> out;
  std::set<size_t> taken;
  for (const std::vector<size_t>& set : sets) {
    out.push_back(PlanOf(set, IsWhole(set, sets, found, ranks), found, ranks));
    taken.insert(set.begin(), set.end());
  }
  for (const std::vector<size_t>& set : FindExchangers(found, sets, taken, clock)) {
    out.push_back(PlanOf(set, !LacksPartners(ranks), found, ranks));
    out.back().in_pairs = true;
    taken.insert(set.begin(), set.end());
  }
  const std::vector<std::vector<size_t>> blocks = FindBlocks(found, taken, ranks, rows, clock);
  for (const std::vector<size_t>& set : blocks) {
    out.push_back(PlanOf(set, IsWhole(set, blocks, found, ranks), found, ranks));
    taken.insert(set.begin(), set.end());
  }
  if (taken.empty() && !assumed) return {plan};
  if (taken.size() < found.lanes.size()) out.push_back(RestOf(found, taken));
  return out;
}

}  // namespace lockstep
