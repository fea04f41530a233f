#include "analysis/metrics/fleet/idle.h"

#include <algorithm>

#include "analysis/metrics/fleet/interval_selection.h"

namespace lockstep {
namespace {

std::optional<int64_t> DominantGap(const Fleet& fleet, const SourceData& source) {
  std::vector<int64_t> longest;
  for (const StepRow& row : source.steps) {
    if (row.step != kNoStep && fleet.SelectsStep(row)) longest.push_back(row.longest_gap_ns);
  }
  if (longest.empty()) return std::nullopt;
  const auto middle = longest.begin() + static_cast<std::ptrdiff_t>((longest.size() - 1) / 2);
  std::nth_element(longest.begin(), middle, longest.end());
  return *middle;
}

}  // namespace

std::vector<IdleOfRank> ComputeIdle(const Fleet& fleet) {
  std::vector<IdleOfRank> result;
  for (size_t i = 0; i < fleet.members.size(); ++i) {
    const SourceData& source = *fleet.members[i].source;
    IdleOfRank idle;
    idle.member = i;
    idle.measure = MeasureSelected(fleet, fleet.members[i]);
    if (!fleet.options.time_ns) idle.dominant_gap_ns = DominantGap(fleet, source);
    if (!fleet.Restricted()) {
      idle.gaps = source.summary.gaps;
      idle.streams = source.summary.streams;
    }
    result.push_back(std::move(idle));
  }
  return result;
}

}  // namespace lockstep
