// Kernels by name (or as grouped): durations over the fleet and by rank. Definitions: docs/algorithms/kernels.md.
//
// Sums, counts, minimum, maximum and standard deviation are exact; quantiles as sketch.h says. Units: ns. Pure.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/metrics/fleet/fleet.h"

namespace lockstep {

// The name of what lies beyond the limits of the condensed data.
inline constexpr std::string_view kRestOfKernels = "(rest)";

struct KernelOfRank {
  size_t member = 0;  // into Fleet::members
  int64_t instances = 0;
  int64_t total_ns = 0;
  Sketch durations;  // empty when only counts and totals are known
};

struct KernelGroup {
  std::string name;
  std::optional<Category> category;  // null when the group mixes them
  std::optional<Family> family;      // of the built-in table
  std::string family_name;           // with --families; "" when the group mixes them
  int64_t instances = 0;
  int64_t total_ns = 0;
  bool complete = true;  // a distribution of all instances is known; the sketches hold it unless totals were asked for
  Sketch durations;
  std::vector<KernelOfRank> by_rank;                      // ranks that ran it, ascending
  std::vector<std::pair<size_t, const KernelRow*>> rows;  // (member, row of its source) behind the group
};

struct KernelSummary {
  std::vector<KernelGroup> groups;    // by total descending, then name
  int64_t total_ns = 0;               // of all groups
  bool by_slice = false;              // some figures were snapped to time slices
  bool without_distribution = false;  // some groups have counts and totals only
  std::optional<int64_t> slices_ns;   // of all ranks, where distributions are those of slices: the time of these
};

// What a selection of steps gives for the names that are kept per step: exact counts and totals without a distribution,
// or the distribution of the time slices that touch the steps. kTotals: counts and totals as kExactTotals has them, and
// no distribution of anything, which is what costs.
enum class StepFigures : uint8_t { kExactTotals = 0, kDistributions = 1, kTotals = 2 };

// kInvalidArgument: the pattern is no ECMAScript regular expression, or too long.
[[nodiscard]] absl::StatusOr<KernelSummary> ComputeKernels(const Fleet& fleet, GroupBy group_by,
                                                           StepFigures figures = StepFigures::kExactTotals);

// Largest mean among the ranks with at least 10 instances, else among all; the lowest rank of equal ones.
[[nodiscard]] std::optional<size_t> SlowestRank(const KernelGroup& group);  // into Fleet::members
// max total / mean total - 1 over the ranks that ran it.
[[nodiscard]] double RankImbalance(const KernelGroup& group);

// Share of the fleet's GPU time lost to the tail: sum over durations > 2 p50 of (x - p50), divided by rank_time_ns.
struct TailScore {
  double value = 0;
  double lower = 0;  // certain bounds; equal to value for an exact sketch
  double upper = 0;
};
[[nodiscard]] std::optional<TailScore> ComputeTailScore(const Sketch& durations, int64_t rank_time_ns);

}  // namespace lockstep
