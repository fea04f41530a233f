#include "analysis/metrics/match/instance_words.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "analysis/metrics/match/awaited.h"
#include "analysis/stats/sketch.h"

namespace lockstep {
namespace {

int64_t Narrow(int128 value) {
  return static_cast<int64_t>(std::clamp<int128>(value, -int128{INT64_MAX}, int128{INT64_MAX}));
}

bool InOneComponent(const MatchedInstance& instance, const ClockModel& clock) {
  const int32_t component = clock.ComponentOf(instance.members.front().rank_index);
  return std::all_of(instance.members.begin(), instance.members.end(),
                     [&](const MatchedMember& m) { return clock.ComponentOf(m.rank_index) == component; });
}

struct Extremes {
  const MatchedMember* first = nullptr;   // earliest start, then lowest rank
  const MatchedMember* last = nullptr;    // latest start, then lowest rank
  const MatchedMember* second = nullptr;  // latest start of the others: A2
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
    if (&m != e.last && (e.second == nullptr || m.start_ns > e.second->start_ns)) e.second = &m;
  }
  return e;
}

// U of comparing other ranks with one at one time. Ranks of another domain whose biases are known share theirs: asked
// in order of rank, that is one look-up a domain.
class ComparedWith {
 public:
  ComparedWith(const ClockModel& clock, const MatchedMember& one)
      : clock_(clock), one_(one), own_domain_(clock.DomainOf(one.rank_index)) {}

  [[nodiscard]] int64_t UncertaintyOf(const MatchedMember& other) {
    const DomainId domain = clock_.DomainOf(other.rank_index);
    if (domain == own_domain_) return clock_.InDomainUncertainty(one_.rank_index, other.rank_index);
    if (clock_.BiasDoubtOf(other.rank_index) > 0) return Ask(other);
    if (known_domain_ != domain) {
      known_ns_ = Ask(other);
      known_domain_ = domain;
    }
    return known_ns_;
  }

 private:
  [[nodiscard]] int64_t Ask(const MatchedMember& other) const {
    const auto uncertainty = clock_.PairUncertainty(one_.rank_index, other.rank_index, AlignedTime{one_.start_ns});
    return uncertainty ? uncertainty->ns : INT64_MAX / 4;
  }

  const ClockModel& clock_;
  const MatchedMember& one_;
  DomainId own_domain_;
  DomainId known_domain_{-1};  // no domain
  int64_t known_ns_ = 0;
};

// Members that may truly have been at the extreme that `one` is measured at, itself included.
int64_t Contenders(const MatchedInstance& instance, const MatchedMember& one, const ClockModel& clock) {
  ComparedWith compared(clock, one);
  return std::count_if(instance.members.begin(), instance.members.end(), [&](const MatchedMember& m) {
    return &m == &one || std::abs(m.start_ns - one.start_ns) <= compared.UncertaintyOf(m);
  });
}

// The largest of k equally noisy values lies above their mean, so the interval of a difference of extremes widens with
// the members that contend for them: mean (a little more, as not all contenders are seen) and variance of the extreme
// of k standard normals, against those of one.
struct ExtremeOf {
  explicit ExtremeOf(int64_t contenders) {
    const double log_k = std::log(static_cast<double>(contenders));
    mean = log_k / (1 + 0.12 * log_k);
    variance = 1 / (1 + 0.8 * log_k);
  }
  double mean = 0;
  double variance = 1;
};

// Of few it is asked for every instance.
ExtremeOf ExtremeOfSome(int64_t contenders) {
  constexpr int64_t kFew = 64;
  static const std::vector<ExtremeOf> few = [] {
    std::vector<ExtremeOf> out;
    for (int64_t k = 1; k <= kFew; ++k) out.emplace_back(k);
    return out;
  }();
  return contenders <= kFew ? few[static_cast<size_t>(contenders - 1)] : ExtremeOf(contenders);
}

double TieFactor(int64_t last_contenders, int64_t first_contenders) {
  constexpr double kHalfWidth = 2.772;  // 1.96 * sqrt(2)
  const ExtremeOf last = ExtremeOfSome(last_contenders);
  const ExtremeOf first = ExtremeOfSome(first_contenders);
  return (last.mean + first.mean) / kHalfWidth + std::sqrt((last.variance + first.variance) / 2);
}

int64_t Widened(int64_t uncertainty_ns, double factor) {
  return std::llround(static_cast<double>(uncertainty_ns) * factor);
}

// Of a wait that rests on a comparison of uncertainty U: where the awaited one came earlier by a margin, only what U
// exceeds it by may have been waited.
int64_t WaitUncertainty(const MatchedMember& m, const MatchedMember& awaited, int64_t uncertainty_ns) {
  return std::max<int64_t>(0, uncertainty_ns - std::max<int64_t>(0, m.start_ns - awaited.start_ns));
}

// Who may have waited for a member without a record did so until the operation itself began at most.
int64_t LatestArrival(const Awaited& awaited, int64_t takes_at_least_ns, const MatchedMember& m) {
  const bool bounded = awaited.latest_ns == kNeverArrived && takes_at_least_ns > 0;
  return std::max(m.arrival_ns, bounded ? m.end_ns - takes_at_least_ns : awaited.latest_ns);
}

void FillWait(const Awaited& awaited, int64_t takes_at_least_ns, MatchedMember& m) {
  const bool waits = awaited.member != nullptr && awaited.member->start_ns > m.start_ns;
  m.awaits = waits ? awaited.member->rank_index : -1;
  m.arrival_ns = waits ? awaited.member->start_ns : m.start_ns;
  m.latest_arrival_ns = LatestArrival(awaited, takes_at_least_ns, m);
  m.wait_ns = std::min(m.arrival_ns, m.end_ns) - m.start_ns;
  m.wait_uncertainty_ns = 0;
  m.awaits_certainly = false;
}

void FillWaits(JoinedInstance& joined, bool all_pairs, const Extremes& extremes, int64_t contenders,
               const ClockModel& clock) {
  ComparedWith compared(clock, *extremes.last);
  const double factor = TieFactor(contenders, 1);
  const AwaitedMembers awaited_members(joined, all_pairs);
  const int64_t takes_at_least_ns = all_pairs ? joined.takes_at_least_ns : 0;
  for (MatchedMember& m : joined.instance.members) {
    const Awaited awaited = awaited_members.Of(m);
    FillWait(awaited, takes_at_least_ns, m);
    if (awaited.member == nullptr) continue;
    if (awaited.member == extremes.last) {
      const MatchedMember& other = &m == extremes.last ? *extremes.second : m;
      m.wait_uncertainty_ns = WaitUncertainty(m, other, Widened(compared.UncertaintyOf(other), factor));
    } else {
      ComparedWith sender(clock, *awaited.member);
      m.wait_uncertainty_ns = WaitUncertainty(m, *awaited.member, sender.UncertaintyOf(m));
    }
    const bool only_one = !awaited.of_several || (contenders == 1 && awaited.member == extremes.last);
    m.awaits_certainly = m.awaits >= 0 && awaited.latest_ns != kNeverArrived && only_one &&
                         (awaited.of_several || m.wait_uncertainty_ns <= m.wait_ns);
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

void FillComparable(JoinedInstance& joined, bool all_pairs, const ClockModel& clock) {
  MatchedInstance& instance = joined.instance;
  const Extremes e = ExtremesOf(instance);
  instance.first_rank_index = e.first->rank_index;
  instance.last_rank_index = e.last->rank_index;
  instance.last_start_ns = e.last->start_ns;
  instance.spread_ns = e.last->start_ns - e.first->start_ns;
  instance.end_spread_ns = e.last_end_ns - e.first_end_ns;
  instance.solo_damage_ns = e.last->start_ns - e.second->start_ns;
  // All starts equal: the pair is the first and any other.
  const MatchedMember& other = e.last != e.first ? *e.first : *e.second;
  const int64_t may_be_last = Contenders(instance, *e.last, clock);
  const int64_t may_be_first = Contenders(instance, *e.first, clock);
  instance.uncertainty_ns =
      Widened(ComparedWith(clock, *e.last).UncertaintyOf(other), TieFactor(may_be_last, may_be_first));
  instance.resolvable = instance.spread_ns > instance.uncertainty_ns;
  instance.last_certain = !instance.lacking && may_be_last == 1;
  if (all_pairs && instance.complete) {
    instance.transfer_ns = std::max<int64_t>(0, e.first_end_ns - e.last->start_ns);
  }
  FillWaits(joined, all_pairs, e, may_be_last, clock);
  FillLateness(instance, e.first->start_ns);
}

}  // namespace

void AlignMembers(MatchedInstance& instance, const ClockModel& clock) {
  for (MatchedMember& m : instance.members) {
    m.correction_ns = clock.Correction(m.rank_index, LocalTime{m.start_ns}).ns;
    m.start_ns -= m.correction_ns;
    m.end_ns -= m.correction_ns;
  }
}

void FillMembership(JoinedInstance& joined, int32_t size, bool may_lack, const ClockModel& clock) {
  MatchedInstance& instance = joined.instance;
  const auto count = static_cast<int32_t>(instance.members.size());
  const int32_t told = joined.receiver >= 0 ? 2 : size;
  instance.lacking = count < told || (may_lack && joined.receiver < 0);
  instance.complete = count == told && !instance.lacking;
  instance.shortest_duration_ns = INT64_MAX;
  for (const MatchedMember& m : instance.members) {
    instance.shortest_duration_ns = std::min(instance.shortest_duration_ns, m.end_ns - m.start_ns);
  }
  instance.comparable = instance.matched() && InOneComponent(instance, clock);
}

void FillWords(JoinedInstance& joined, bool all_pairs, const ClockModel& clock) {
  joined.instance.all_pairs = all_pairs;
  if (joined.instance.comparable) FillComparable(joined, all_pairs, clock);
}

void FillArrivals(const MatchedInstance& instance, size_t index, std::vector<std::vector<ArrivalOfRow>>& arrivals) {
  const bool usable = instance.usable();
  for (const MatchedMember& m : instance.members) {
    ArrivalOfRow& arrival = arrivals[static_cast<size_t>(m.rank_index)][static_cast<size_t>(m.row)];
    arrival = {};
    arrival.usable = usable;
    arrival.arrival_ns = m.arrival_ns;
    arrival.latest_ns = m.latest_arrival_ns;
    arrival.resolved = usable && (m.wait_ns == 0 || m.wait_uncertainty_ns <= m.wait_ns);
    arrival.instance = static_cast<int32_t>(index);
  }
}

}  // namespace lockstep
