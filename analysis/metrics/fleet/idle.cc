#include "analysis/metrics/fleet/idle.h"

#include <algorithm>

#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

std::optional<int64_t> DominantGap(const Fleet& fleet, const SourceData& source) {
  std::vector<int64_t> longest;
  for (const StepRow& row : source.steps) {
    if (row.step != kNoStep && fleet.SelectsStep(row)) longest.push_back(row.longest_gap_ns);
  }
  if (longest.empty()) return std::nullopt;
  return LowerMedian(std::move(longest));
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
    const bool two_selections = fleet.options.time_ns && fleet.SelectsSteps();
    if (!fleet.TablesTooWide() && !two_selections) {
      idle.gaps = source.summary.gaps;
      idle.streams = source.summary.streams;
    }
    result.push_back(std::move(idle));
  }
  return result;
}

}  // namespace lockstep
