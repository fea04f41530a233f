#include "analysis/metrics/kernels/waiting_kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

constexpr size_t kLeastRanks = 2;
constexpr double kLeastOfSpan = 0.02;      // the difference between ranks must be worth telling,
constexpr double kLeastTimesAsLong = 1.5;  // more than devices of one kind differ by
constexpr double kLeastWithoutAny = 1.1;   // (where no kernel is known to communicate: more than chance),
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

// Limits that hold for all groups of a kernel.
struct Limits {
  double least_range_ns = 0;
  double least_times = 1;
};

// Adds one group of ranks that are alike elsewhere, if they behave as ranks that wait for each other do.
void AddGroup(const Ranks& ranks, const Limits& limits, WaitingKernel& out) {
  if (ranks.size() < kLeastRanks) return;
  const auto by_own = [](const RankTimes& a, const RankTimes& b) { return a.own_ns < b.own_ns; };
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end(), by_own);
  const auto range_ns = static_cast<double>(most->own_ns - least->own_ns);
  const auto shortest_ns = static_cast<double>(std::max<int64_t>(1, least->own_ns));
  if (range_ns < limits.least_range_ns || static_cast<double>(most->own_ns) < limits.least_times * shortest_ns) return;
  if (static_cast<double>(RangeOf(ranks, Communication)) > kMostUneven * range_ns) return;
  if (static_cast<double>(RangeOf(ranks, Sum)) > kMostUneven * range_ns) return;
  // On a slow device everything takes longer: there who spends most in it has no less to do otherwise.
  if (least->Besides() < most->Besides()) return;
  if (most->own_ns - least->own_ns > out.longest_ns - out.shortest_ns) {
    out.shortest = least->member;
    out.shortest_ns = least->own_ns;
    out.longest_ns = most->own_ns;
  }
  for (const RankTimes& rank : ranks) out.excess_ns += rank.own_ns - least->own_ns;
}

std::optional<WaitingKernel> Judge(const FleetMeasures& measures, const KernelGroup& group) {
  Ranks ranks(measures.ranks.size());
  const int64_t instances = InstancesOfAll(group, ranks.size());
  if (instances == 0) return std::nullopt;
  for (const KernelOfRank& rank : group.by_rank) ranks[rank.member].own_ns = TimeOf(rank, instances);
  int64_t span_ns = 0;
  bool none = true;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const IntervalMeasure& measure = measures.ranks[r].selected;
    ranks[r] = {r, ranks[r].own_ns, measure.compute_ns - ranks[r].own_ns, measure.exposed_comm_ns(), measure.idle_ns()};
    none = none && ranks[r].communication_ns == 0;
    span_ns = std::max(span_ns, measure.span_ns);
  }
  const Limits limits{kLeastOfSpan * static_cast<double>(span_ns), none ? kLeastWithoutAny : kLeastTimesAsLong};
  WaitingKernel out;
  out.name = group.name;
  for (const Ranks& alike : AlikeElsewhere(ranks)) AddGroup(alike, limits, out);
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

}  // namespace

std::optional<WaitingKernel> FindWaitingKernel(const FleetMeasures& measures, const KernelSummary& kernels) {
  if (measures.ranks.size() < kLeastRanks) return std::nullopt;
  std::vector<WaitingKernel> found;
  int64_t most_ns = 0;
  for (const KernelGroup& group : kernels.groups) {
    if (group.category == Category::kCommunication || group.name == kRestOfKernels) continue;
    std::optional<WaitingKernel> judged = Judge(measures, group);
    if (!judged) continue;
    most_ns = std::max(most_ns, judged->excess_ns);
    found.push_back(*std::move(judged));
  }
  std::erase_if(found, [&](const WaitingKernel& it) { return 2 * it.excess_ns < most_ns; });
  const auto best = std::max_element(found.begin(), found.end(), IsLessOfAWait);
  return best == found.end() ? std::nullopt : std::optional(std::move(*best));
}

std::optional<WaitingKernel> FindWaitingKernel(const Fleet& fleet, const FleetMeasures& measures) {
  if (fleet.members.size() < kLeastRanks || fleet.Restricted()) return std::nullopt;
  const absl::StatusOr<KernelSummary> kernels = ComputeKernels(fleet, GroupBy::kFull, StepFigures::kTotals);
  return kernels.ok() ? FindWaitingKernel(measures, *kernels) : std::nullopt;
}

}  // namespace lockstep
