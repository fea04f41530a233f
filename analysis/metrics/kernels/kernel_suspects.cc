#include "analysis/metrics/kernels/kernel_suspects.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace lockstep {
namespace {

int64_t RangeIn(const KernelSuspect& suspect) {
  const auto [least, most] = std::ranges::minmax(suspect.own_ns);
  return most - least;
}

size_t ShortestIn(const KernelSuspect& suspect) {
  return static_cast<size_t>(std::ranges::min_element(suspect.own_ns) - suspect.own_ns.begin());
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

// Kernels that all ranks run about equally often and that are not known to communicate.
std::vector<KernelSuspect> SingleKernels(const KernelSummary& kernels, size_t ranks) {
  std::vector<KernelSuspect> out;
  for (const KernelGroup& group : kernels.groups) {
    if (group.category == Category::kCommunication || group.name == kRestOfKernels) continue;
    const int64_t instances = InstancesOfAll(group, ranks);
    if (instances == 0) continue;
    KernelSuspect suspect{group.name, 0, ComputesByName(group.family), std::vector<int64_t>(ranks)};
    for (const KernelOfRank& rank : group.by_rank) suspect.own_ns[rank.member] = TimeOf(rank, instances);
    out.push_back(std::move(suspect));
  }
  return out;
}

// Those that differ most and are shortest on the same rank, as one: a library may have a kernel for each size and type.
std::vector<KernelSuspect> Together(std::vector<KernelSuspect> suspects) {
  constexpr size_t kMostTogether = 256;
  std::ranges::stable_sort(suspects, std::ranges::greater(), RangeIn);
  if (suspects.size() > kMostTogether) suspects.resize(kMostTogether);
  std::map<size_t, KernelSuspect> by_shortest;
  for (KernelSuspect& suspect : suspects) {
    const size_t shortest = ShortestIn(suspect);
    const auto most = static_cast<double>(suspect.own_ns[shortest] + RangeIn(suspect));
    if (most < suspect.LeastTimes() * static_cast<double>(suspect.own_ns[shortest])) continue;
    const auto [at, is_first] = by_shortest.try_emplace(shortest, std::move(suspect));
    if (is_first) continue;
    ++at->second.others;
    at->second.computes = at->second.computes || suspect.computes;
    for (size_t r = 0; r < at->second.own_ns.size(); ++r) at->second.own_ns[r] += suspect.own_ns[r];
  }
  std::vector<KernelSuspect> out;
  for (auto& [shortest, suspect] : by_shortest) {
    if (suspect.others > 0) out.push_back(std::move(suspect));
  }
  return out;
}

}  // namespace

std::vector<KernelSuspect> FindKernelSuspects(const KernelSummary& kernels, size_t ranks) {
  std::vector<KernelSuspect> suspects = SingleKernels(kernels, ranks);
  for (KernelSuspect& several : Together(suspects)) suspects.push_back(std::move(several));
  return suspects;
}

}  // namespace lockstep
