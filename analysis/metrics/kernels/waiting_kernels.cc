#include "analysis/metrics/kernels/waiting_kernels.h"

#include <algorithm>
#include <vector>

namespace lockstep {
namespace {

constexpr size_t kLeastRanks = 2;
constexpr double kLeastOfSpan = 0.02;      // the difference between ranks must be worth telling,
constexpr double kLeastTimesAsLong = 1.5;  // more than devices of one kind differ by
constexpr double kLeastWithoutAny = 1.1;   // (where no kernel is known to communicate: more than chance),
constexpr double kMostUneven = 0.3;        // and explain most of what the ranks differ in otherwise

struct Extremes {
  size_t least = 0;
  size_t most = 0;
};

Extremes ExtremesOf(const std::vector<int64_t>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {static_cast<size_t>(least - values.begin()), static_cast<size_t>(most - values.begin())};
}

int64_t RangeOf(const std::vector<int64_t>& values) {
  const Extremes extremes = ExtremesOf(values);
  return values[extremes.most] - values[extremes.least];
}

bool RunsEverywhere(const KernelGroup& group, size_t ranks) {
  if (group.by_rank.size() != ranks) return false;
  const int64_t instances = group.by_rank.front().instances;
  return instances > 0 && std::all_of(group.by_rank.begin(), group.by_rank.end(),
                                      [&](const KernelOfRank& rank) { return rank.instances == instances; });
}

std::optional<WaitingKernel> Judge(const FleetMeasures& measures, const KernelGroup& group) {
  const size_t ranks = measures.ranks.size();
  std::vector<int64_t> own(ranks);
  for (const KernelOfRank& rank : group.by_rank) own[rank.member] = rank.total_ns;
  std::vector<int64_t> others(ranks);
  std::vector<int64_t> communication(ranks);
  int64_t span_ns = 0;
  for (size_t r = 0; r < ranks; ++r) {
    const IntervalMeasure& measure = measures.ranks[r].selected;
    others[r] = measure.compute_ns - own[r];
    communication[r] = measure.exposed_comm_ns();
    span_ns = std::max(span_ns, measure.span_ns);
  }
  const Extremes extremes = ExtremesOf(own);
  const auto range = static_cast<double>(own[extremes.most] - own[extremes.least]);
  const bool none = std::all_of(communication.begin(), communication.end(), [](int64_t ns) { return ns == 0; });
  const double least_times = none ? kLeastWithoutAny : kLeastTimesAsLong;
  const bool much = range >= kLeastOfSpan * static_cast<double>(span_ns) &&
                    static_cast<double>(own[extremes.most]) >=
                        least_times * static_cast<double>(std::max<int64_t>(1, own[extremes.least]));
  if (!much || static_cast<double>(RangeOf(communication)) > kMostUneven * range) return std::nullopt;
  std::vector<int64_t> sums(ranks);
  for (size_t r = 0; r < ranks; ++r) sums[r] = own[r] + others[r] + measures.ranks[r].selected.idle_ns();
  if (static_cast<double>(RangeOf(sums)) > kMostUneven * range) return std::nullopt;
  // On a slow device everything takes longer: there who spends most in it has no less to do otherwise.
  if (others[extremes.least] + measures.ranks[extremes.least].selected.idle_ns() <
      others[extremes.most] + measures.ranks[extremes.most].selected.idle_ns()) {
    return std::nullopt;
  }
  WaitingKernel out{group.name, extremes.least, own[extremes.least], own[extremes.most], 0};
  for (const int64_t ns : own) out.excess_ns += ns - out.shortest_ns;
  return out;
}

}  // namespace

std::optional<WaitingKernel> FindWaitingKernel(const FleetMeasures& measures, const KernelSummary& kernels) {
  std::optional<WaitingKernel> best;
  if (measures.ranks.size() < kLeastRanks) return best;
  for (const KernelGroup& group : kernels.groups) {
    if (group.category == Category::kCommunication || group.name == kRestOfKernels) continue;
    if (!RunsEverywhere(group, measures.ranks.size())) continue;
    std::optional<WaitingKernel> found = Judge(measures, group);
    if (found && (!best || found->excess_ns > best->excess_ns)) best = std::move(found);
  }
  return best;
}

std::optional<WaitingKernel> FindWaitingKernel(const Fleet& fleet, const FleetMeasures& measures) {
  if (fleet.members.size() < kLeastRanks || fleet.Restricted()) return std::nullopt;
  const absl::StatusOr<KernelSummary> kernels = ComputeKernels(fleet, GroupBy::kFull, StepFigures::kTotals);
  return kernels.ok() ? FindWaitingKernel(measures, *kernels) : std::nullopt;
}

}  // namespace lockstep
