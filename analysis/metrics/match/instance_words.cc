#include "analysis/metrics/instance_words.h"

#include <algorithm>

#include "analysis/stats/sketch.h"

namespace lockstep {
namespace {

int64_t Narrow(int128 value) {
  return static_cast<int64_t>(std::clamp<int128>(value, -int128{INT64_MAX}, int128{INT64_MAX}));
}

bool OnOneClock(const MatchedInstance& instance, const ClockModel& clock) {
  return std::all_of(instance.members.begin(), instance.members.end(), [&](const MatchedMember& m) {
    return clock.DomainOf(m.rank_index) == clock.DomainOf(instance.members.front().rank_index);
  });
}

const MatchedMember* MemberOf(const MatchedInstance& instance, int32_t rank_index) {
  for (const MatchedMember& m : instance.members) {
    if (m.rank_index == rank_index) return &m;
  }
  return nullptr;
}

struct Extremes {
  const MatchedMember* first = nullptr;  // earliest start, then lowest rank
  const MatchedMember* last = nullptr;   // latest start, then lowest rank
  int64_t second_start_ns = INT64_MIN;   // A2
  int64_t first_end_ns = INT64_MAX;
  int64_t last_end_ns = INT64_MIN;
};

Extremes ExtremesOf(const MatchedInstance& instance) {
  Extremes e;
  for (const MatchedMember& m : instance.members) {
    if (e.first == nullptr || m.start_ns < e.first->start_ns) e.first = &m;
    if (e.last == nullptr || m.start_ns > e.last->start_ns) e.last = &m;
    e.first_end_ns = std::min(e.first_end_ns, m.end_ns);
    e.last_end_ns = std::max(e.last_end_ns, m.end_ns);
  }
  for (const MatchedMember& m : instance.members) {
    if (&m != e.last) e.second_start_ns = std::max(e.second_start_ns, m.start_ns);
  }
  return e;
}

// The members one of which a member may wait for besides itself (algorithms: which operation gives which constraint).
const MatchedMember* WaitsFor(const JoinedInstance& joined, bool all_pairs, const MatchedMember& m,
                              const Extremes& extremes) {
  const MatchedInstance& instance = joined.instance;
  if (joined.receiver >= 0) return m.rank_index == joined.receiver ? MemberOf(instance, joined.sender) : nullptr;
  if (all_pairs) return extremes.last;
  if (joined.root < 0) return nullptr;
  const bool is_root = m.rank_index == joined.root;
  switch (instance.op) {
    case CollectiveOp::kBroadcast:
    case CollectiveOp::kScatter:
      return is_root ? nullptr : MemberOf(instance, joined.root);
    case CollectiveOp::kReduce:
    case CollectiveOp::kGather:
      return is_root ? extremes.last : nullptr;
    default:
      return nullptr;
  }
}

void FillWaits(JoinedInstance& joined, bool all_pairs, const Extremes& extremes) {
  for (MatchedMember& m : joined.instance.members) {
    const MatchedMember* awaited = WaitsFor(joined, all_pairs, m, extremes);
    m.arrival_ns = std::max(m.start_ns, awaited == nullptr ? m.start_ns : awaited->start_ns);
    m.wait_ns = std::min(m.arrival_ns, m.end_ns) - m.start_ns;
  }
}

// Relative to the first start, so that nothing overflows.
void FillLateness(MatchedInstance& instance, int64_t first_start_ns) {
  int128 sum = 0;
  for (const MatchedMember& m : instance.members) sum += int128{m.start_ns} - first_start_ns;
  const auto count = static_cast<int128>(instance.members.size());
  for (MatchedMember& m : instance.members) {
    m.lateness_times_m_ns = Narrow(count * (int128{m.start_ns} - first_start_ns) - sum);
  }
}

bool LastIsCertain(const MatchedInstance& instance, const MatchedMember& last, const ClockModel& clock) {
  return std::all_of(instance.members.begin(), instance.members.end(), [&](const MatchedMember& m) {
    if (&m == &last) return true;
    const auto uncertainty = clock.PairUncertainty(last.rank_index, m.rank_index);
    return uncertainty && last.start_ns - m.start_ns > uncertainty->ns;
  });
}

void FillComparable(JoinedInstance& joined, bool all_pairs, const ClockModel& clock) {
  MatchedInstance& instance = joined.instance;
  const Extremes e = ExtremesOf(instance);
  instance.first_rank_index = e.first->rank_index;
  instance.last_rank_index = e.last->rank_index;
  instance.spread_ns = e.last->start_ns - e.first->start_ns;
  instance.end_spread_ns = e.last_end_ns - e.first_end_ns;
  instance.solo_damage_ns = e.last->start_ns - e.second_start_ns;
  // All starts equal: the pair is the first and any other.
  const MatchedMember* other = e.last != e.first ? e.last : &instance.members.back();
  instance.uncertainty_ns = clock.PairUncertainty(e.first->rank_index, other->rank_index)->ns;
  instance.resolvable = instance.spread_ns > instance.uncertainty_ns;
  instance.last_certain = LastIsCertain(instance, *e.last, clock);
  if (all_pairs && instance.complete) {
    instance.transfer_ns = std::max<int64_t>(0, e.first_end_ns - e.last->start_ns);
  }
  FillWaits(joined, all_pairs, e);
  FillLateness(instance, e.first->start_ns);
}

// Half-width of the comparison that a member's wait rests on.
bool WaitIsResolved(const MatchedInstance& instance, const MatchedMember& m, const ClockModel& clock) {
  if (m.wait_ns == 0) return true;
  for (const MatchedMember& other : instance.members) {
    if (other.start_ns != m.arrival_ns || other.rank_index == m.rank_index) continue;
    const auto uncertainty = clock.PairUncertainty(m.rank_index, other.rank_index);
    return uncertainty && uncertainty->ns <= m.wait_ns;
  }
  return false;
}

}  // namespace

void FillWords(JoinedInstance& joined, bool all_pairs, int32_t size, const ClockModel& clock) {
  MatchedInstance& instance = joined.instance;
  const auto count = static_cast<int32_t>(instance.members.size());
  instance.complete = count == (joined.receiver >= 0 ? 2 : size);
  instance.shortest_duration_ns = INT64_MAX;
  for (const MatchedMember& m : instance.members) {
    instance.shortest_duration_ns = std::min(instance.shortest_duration_ns, m.end_ns - m.start_ns);
  }
  instance.comparable = instance.matched() && OnOneClock(instance, clock);
  if (instance.comparable) FillComparable(joined, all_pairs, clock);
}

std::vector<ArrivalOfRow> ArrivalsOf(const JoinedInstance& joined, const ClockModel& clock) {
  const MatchedInstance& instance = joined.instance;
  std::vector<ArrivalOfRow> out;
  for (const MatchedMember& m : instance.members) {
    ArrivalOfRow arrival;
    arrival.usable = instance.usable();
    arrival.arrival_ns = m.arrival_ns;
    arrival.resolved = arrival.usable && WaitIsResolved(instance, m, clock);
    out.push_back(arrival);
  }
  return out;
}

}  // namespace lockstep
