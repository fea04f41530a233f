#include "analysis/metrics/kernels/waiting_kernels.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/metrics/kernels/kernel_suspects.h"

namespace lockstep {
namespace {

constexpr size_t kLeastRanks = 2;
constexpr double kLeastOfSpan = 0.02;  // the difference between ranks must be worth telling,
constexpr double kMostUneven = 0.3;    // and explain most of what the ranks differ in otherwise

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

std::optional<WaitingKernel> Judge(const FleetMeasures& measures, const KernelSuspect& suspect) {
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

// What one of a pair computes more, the other one waits in another kernel: the wait is the one that nearly vanishes.
bool IsLessOfAWait(const WaitingKernel& a, const WaitingKernel& b) {
  const auto times = [](const WaitingKernel& it) {
    return static_cast<double>(it.longest_ns) / static_cast<double>(std::max<int64_t>(1, it.shortest_ns));
  };
  return times(a) < times(b);
}

std::optional<WaitingKernel> BestOf(const FleetMeasures& measures, const std::vector<KernelSuspect>& suspects) {
  std::vector<WaitingKernel> found;
  int64_t most_ns = 0;
  for (const KernelSuspect& suspect : suspects) {
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
  return BestOf(measures, FindKernelSuspects(kernels, ranks));
}

std::optional<WaitingKernel> FindWaitingKernel(const Fleet& fleet, const FleetMeasures& measures) {
  if (fleet.members.size() < kLeastRanks || fleet.Restricted()) return std::nullopt;
  const absl::StatusOr<KernelSummary> kernels = ComputeKernels(fleet, GroupBy::kFull, StepFigures::kTotals);
  return kernels.ok() ? FindWaitingKernel(measures, *kernels) : std::nullopt;
}

}  // namespace lockstep
