#include "analysis/metrics/kernels/kernel_pace.h"

#include <algorithm>
#include <map>

#include "analysis/base/status_macros.h"
#include "analysis/metrics/kernels/kernels.h"

namespace lockstep {
namespace {

KernelPaceOfRank PaceOf(const Fleet& fleet, size_t index, const std::vector<const KernelRow*>& rows) {
  const FleetRank& member = fleet.members[index];
  const int64_t width = member.source->context.slice_ns;
  std::map<int64_t, std::pair<int64_t, double>> slices;  // instances, time
  for (const KernelRow* row : rows) {
    for (const auto& [slice, sketch] : row->slices) {
      slices[slice].first += sketch.count();
      slices[slice].second += static_cast<double>(sketch.sum());
    }
  }
  KernelPaceOfRank pace{index, {}};
  for (const auto& [slice, sum] : slices) {
    if (width <= 0 || sum.first == 0) continue;
    const int64_t start = fleet.ToAligned(member, GridTime(slice, width));
    pace.slices.push_back({start, width, sum.first, sum.second / static_cast<double>(sum.first)});
  }
  return pace;
}

}  // namespace

absl::StatusOr<std::vector<KernelPace>> ComputeKernelPace(const Fleet& fleet) {
  LOCKSTEP_ASSIGN_OR_RETURN(const KernelSummary kernels, ComputeKernels(fleet, GroupBy::kFull, StepFigures::kTotals));
  std::vector<KernelPace> paces;
  for (const KernelGroup& group : kernels.groups) {
    if (paces.size() == kMaxPacedKernels) break;
    if (group.category == Category::kCommunication) continue;
    std::map<size_t, std::vector<const KernelRow*>> by_member;
    for (const auto& [member, row] : group.rows) by_member[member].push_back(row);
    KernelPace pace{group.name, {}};
    for (const auto& [member, rows] : by_member) pace.ranks.push_back(PaceOf(fleet, member, rows));
    paces.push_back(std::move(pace));
  }
  return paces;
}

}  // namespace lockstep
