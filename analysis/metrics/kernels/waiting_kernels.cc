#include "analysis/metrics/kernels/waiting_kernels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr size_t kLeastRanks = 2;
constexpr double kLeastOfSpan = 0.02;      // the difference between ranks must be worth telling,
constexpr double kLeastTimesAsLong = 1.1;  // more than chance,
constexpr double kClearlyLonger = 1.5;     // (where less speaks for it: than devices of one kind differ by,)
constexpr double kMostUneven = 0.3;        // and explain most of what the ranks differ in otherwise

// What one rank did in the common window. Idle time is no work, but what has to be done before the kernel can begin.
struct RankTimes {
  size_t member = 0;
  int64_t own_ns = 0;            // in the kernel
  int64_t others_ns = 0;         // other computing
  int64_t communication_ns = 0;  // known, without compute beside it
  int64_t idle_ns = 0;

  [[nodiscard]] int64_t Besides() const { return others_ns + idle_ns; }
  [[nodiscard]] int64_t Sum() const { return own_ns + Besides(); }
};
using Ranks = std::vector<RankTimes>;

template <typename Value>
int64_t RangeOf(const Ranks& ranks, const Value& value) {
  const auto by_value = [&](const RankTimes& a, const RankTimes& b) { return value(a) < value(b); };
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), by_value);
  return value(*most) - value(*least);
}

int64_t Own(const RankTimes& rank) { return rank.own_ns; }
int64_t Communication(const RankTimes& rank) { return rank.communication_ns; }
int64_t Sum(const RankTimes& rank) { return rank.Sum(); }
int64_t Total(const RankTimes& rank) { return rank.Sum() + rank.communication_ns; }

// Ranks whose values are neighbours, closer than `tolerance_ns`.
template <typename Value>
std::vector<Ranks> Parts(Ranks ranks, double tolerance_ns, const Value& value) {
  std::sort(ranks.begin(), ranks.end(), [&](const RankTimes& a, const RankTimes& b) {
    return std::pair(value(a), a.member) < std::pair(value(b), b.member);
  });
  std::vector<Ranks> parts;
  for (const RankTimes& rank : ranks) {
    const bool first = parts.empty() || static_cast<double>(value(rank) - value(parts.back().back())) > tolerance_ns;
    if (first) parts.emplace_back();
    parts.back().push_back(rank);
  }
  return parts;
}

// Who waits for each other in the kernel waits alike elsewhere. Its groups may be parts of the fleet, of which the
// others wait in known communication meanwhile, or end earlier.
std::vector<Ranks> AlikeElsewhere(const Ranks& ranks) {
  const double tolerance_ns = kMostUneven * static_cast<double>(RangeOf(ranks, Own));
  std::vector<Ranks> out;
  for (Ranks& part : Parts(ranks, tolerance_ns, Communication)) {
    for (Ranks& alike : Parts(std::move(part), tolerance_ns, Sum)) out.push_back(std::move(alike));
  }
  return out;
}

// How many instances of the kernel every rank has. Some records may be lost, and a trace may end earlier; where a rank
// has less than half of them it does other work. 0: not every rank runs it, or by far not equally often.
int64_t InstancesOfAll(const KernelGroup& group, size_t ranks) {
  if (group.by_rank.size() != ranks) return 0;
  const auto fewer = [](const KernelOfRank& a, const KernelOfRank& b) { return a.instances < b.instances; };
  const auto [least, most] = std::minmax_element(group.by_rank.begin(), group.by_rank.end(), fewer);
  return 2 * least->instances >= most->instances ? least->instances : 0;
}

// Of the time that all ranks have, over which the rest is measured.
int64_t TimeOf(const KernelOfRank& rank, int64_t instances) {
  return std::llround(static_cast<double>(rank.total_ns) * static_cast<double>(instances) /
                      static_cast<double>(rank.instances));
}

// Ranks that may wait for each other in the kernel: who spends least and most in it, and how much the latter more.
struct Group {
  explicit Group(const Ranks& members) : ranks(members) {
    const auto [shortest, longest] = std::ranges::minmax_element(ranks, {}, &RankTimes::own_ns);
    least = *shortest;
    most = *longest;
    range_ns = most.own_ns - least.own_ns;
    tolerance_ns = kMostUneven * static_cast<double>(range_ns);
  }

  [[nodiscard]] bool IsLonger(double times) const {
    return static_cast<double>(most.own_ns) >= times * static_cast<double>(std::max<int64_t>(1, least.own_ns));
  }
  template <typename Value>
  [[nodiscard]] bool IsEven(const Value& value) const {
    return static_cast<double>(RangeOf(ranks, value)) <= tolerance_ns;
  }

  const Ranks& ranks;
  RankTimes least;
  RankTimes most;
  int64_t range_ns = 0;
  double tolerance_ns = 0;
};

// All of the wait is in the kernel. On a slow device everything takes longer: there who spends most in it has no less
// to do otherwise.
bool WaitsInIt(const Group& group, double least_times) {
  return group.IsLonger(least_times) && group.IsEven(Communication) && group.IsEven(Sum) &&
         group.least.Besides() >= group.most.Besides();
}

// The same ranks wait for the same one in known communication too: by as much more as they wait more in the kernel.
// Communication evens out whatever ranks do, so that less speaks for it.
bool WaitsInBoth(const Group& group) {
  if (!group.IsLonger(kClearlyLonger) || !group.IsEven(Total)) return false;
  const auto more = static_cast<double>(group.most.communication_ns - group.least.communication_ns);
  const double proportion = more / static_cast<double>(group.range_ns);
  return proportion >= 0 && std::ranges::all_of(group.ranks, [&](const RankTimes& rank) {
           const auto own = static_cast<double>(rank.own_ns - group.least.own_ns);
           const auto known = static_cast<double>(rank.communication_ns - group.least.communication_ns);
           return std::abs(known - proportion * own) <= group.tolerance_ns;
         });
}

template <typename Waits>
void AddGroups(const std::vector<Ranks>& parts, double least_range_ns, const Waits& waits, WaitingKernel& out) {
  for (const Ranks& ranks : parts) {
    if (ranks.size() < kLeastRanks) continue;
    const Group group(ranks);
    if (static_cast<double>(group.range_ns) < least_range_ns || !waits(group)) continue;
    if (group.range_ns > out.longest_ns - out.shortest_ns) {
      out.shortest = group.least.member;
      out.shortest_ns = group.least.own_ns;
      out.longest_ns = group.most.own_ns;
    }
    for (const RankTimes& rank : ranks) out.excess_ns += rank.own_ns - group.least.own_ns;
  }
}

// Operations whose kernels have such names compute. Names of kernels that communicate tell none of them.
bool ComputesByName(std::optional<Family> family) {
  switch (family.value_or(Family::kOther)) {
    case Family::kOther:
    case Family::kCopy:
    case Family::kReduction:
    case Family::kMoe:
    case Family::kMoeRouting:
    case Family::kTriton:
      return false;
    default:
      return true;
  }
}

// One kernel or several: how long every rank is in it, by member.
struct Suspect {
  std::string name;
  int32_t others = 0;
  bool computes = false;  // its name says so
  std::vector<int64_t> own_ns;

  [[nodiscard]] double LeastTimes() const { return computes ? kClearlyLonger : kLeastTimesAsLong; }
  [[nodiscard]] int64_t Range() const { return *std::ranges::max_element(own_ns) - *std::ranges::min_element(own_ns); }
  [[nodiscard]] size_t Shortest() const {
    return static_cast<size_t>(std::ranges::min_element(own_ns) - own_ns.begin());
  }
};

std::optional<WaitingKernel> Judge(const FleetMeasures& measures, const Suspect& suspect) {
  Ranks ranks(measures.ranks.size());
  int64_t span_ns = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const IntervalMeasure& measure = measures.ranks[r].selected;
    const int64_t own_ns = suspect.own_ns[r];
    ranks[r] = {r, own_ns, measure.compute_ns - own_ns, measure.exposed_comm_ns(), measure.idle_ns()};
    span_ns = std::max(span_ns, measure.span_ns);
  }
  const double least_range_ns = kLeastOfSpan * static_cast<double>(span_ns);
  WaitingKernel out;
  out.name = suspect.name;
  out.others = suspect.others;
  const auto waits_in_it = [&](const Group& group) { return WaitsInIt(group, suspect.LeastTimes()); };
  AddGroups(AlikeElsewhere(ranks), least_range_ns, waits_in_it, out);
  if (out.excess_ns == 0 && !suspect.computes) {
    const double tolerance_ns = kMostUneven * static_cast<double>(RangeOf(ranks, Own));
    AddGroups(Parts(ranks, tolerance_ns, Total), least_range_ns, WaitsInBoth, out);
  }
  if (out.excess_ns == 0) return std::nullopt;
  out.worst_ratio = static_cast<double>(out.longest_ns - out.shortest_ns) / static_cast<double>(span_ns);
  return out;
}

// Kernels that all ranks run about equally often and that are not known to communicate.
std::vector<Suspect> SuspectsIn(const KernelSummary& kernels, size_t ranks) {
  std::vector<Suspect> out;
  for (const KernelGroup& group : kernels.groups) {
    if (group.category == Category::kCommunication || group.name == kRestOfKernels) continue;
    const int64_t instances = InstancesOfAll(group, ranks);
    if (instances == 0) continue;
    Suspect suspect{group.name, 0, ComputesByName(group.family), std::vector<int64_t>(ranks)};
    for (const KernelOfRank& rank : group.by_rank) suspect.own_ns[rank.member] = TimeOf(rank, instances);
    out.push_back(std::move(suspect));
  }
  return out;
}

// Those that differ most and are shortest on the same rank, as one: a library may have a kernel for each size and type.
std::vector<Suspect> Together(std::vector<Suspect> suspects) {
  constexpr size_t kMostTogether = 256;
  std::ranges::stable_sort(suspects, std::ranges::greater(), &Suspect::Range);
  if (suspects.size() > kMostTogether) suspects.resize(kMostTogether);
  std::map<size_t, Suspect> by_shortest;
  for (Suspect& suspect : suspects) {
    const size_t shortest = suspect.Shortest();
    const auto most = static_cast<double>(suspect.own_ns[shortest] + suspect.Range());
    if (most < suspect.LeastTimes() * static_cast<double>(suspect.own_ns[shortest])) continue;
    const auto [at, is_first] = by_shortest.try_emplace(shortest, std::move(suspect));
    if (is_first) continue;
    ++at->second.others;
    at->second.computes = at->second.computes || suspect.computes;
    for (size_t r = 0; r < at->second.own_ns.size(); ++r) at->second.own_ns[r] += suspect.own_ns[r];
  }
  std::vector<Suspect> out;
  for (auto& [shortest, suspect] : by_shortest) {
    if (suspect.others > 0) out.push_back(std::move(suspect));
  }
  return out;
}

// What one of a pair computes more, the other one waits in another kernel: the wait is the one that nearly vanishes.
bool IsLessOfAWait(const WaitingKernel& a, const WaitingKernel& b) {
  const auto times = [](const WaitingKernel& it) {
    return static_cast<double>(it.longest_ns) / static_cast<double>(std::max<int64_t>(1, it.shortest_ns));
  };
  return times(a) < times(b);
}

std::optional<WaitingKernel> BestOf(const FleetMeasures& measures, const std::vector<Suspect>& suspects) {
  std::vector<WaitingKernel> found;
  int64_t most_ns = 0;
  for (const Suspect& suspect : suspects) {
    std::optional<WaitingKernel> judged = Judge(measures, suspect);
    if (!judged) continue;
    most_ns = std::max(most_ns, judged->excess_ns);
    found.push_back(*std::move(judged));
  }
  std::erase_if(found, [&](const WaitingKernel& it) { return 2 * it.excess_ns < most_ns; });
  const auto best = std::max_element(found.begin(), found.end(), IsLessOfAWait);
  return best == found.end() ? std::nullopt : std::optional(std::move(*best));
}

}  // namespace

std::optional<WaitingKernel> FindWaitingKernel(const FleetMeasures& measures, const KernelSummary& kernels) {
  const size_t ranks = measures.ranks.size();
  if (ranks < kLeastRanks) return std::nullopt;
  std::vector<Suspect> suspects = SuspectsIn(kernels, ranks);
  for (Suspect& several : Together(suspects)) suspects.push_back(std::move(several));
  return BestOf(measures, suspects);
}

std::optional<WaitingKernel> FindWaitingKernel(const Fleet& fleet, const FleetMeasures& measures) {
  if (fleet.members.size() < kLeastRanks || fleet.Restricted()) return std::nullopt;
  const absl::StatusOr<KernelSummary> kernels = ComputeKernels(fleet, GroupBy::kFull, StepFigures::kTotals);
  return kernels.ok() ? FindWaitingKernel(measures, *kernels) : std::nullopt;
}

}  // namespace lockstep
