#include "analysis/condense/typical_step.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {
namespace {

uint32_t LowerMedianOf(std::vector<uint32_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::optional<int32_t> TypicalStep(const std::vector<uint32_t>& activities, const CondenseSelection& selection) {
  if (selection.time_ns) return std::nullopt;
  std::vector<int32_t> steps;
  for (size_t i = 0; i < activities.size(); ++i) {
    const auto step = static_cast<int32_t>(i);
    if (activities[i] > 0 && selection.Has(step, 0)) steps.push_back(step);
  }
  if (steps.size() > 2) steps.pop_back();
  if (steps.size() > 1) steps.erase(steps.begin());
  if (steps.empty()) return std::nullopt;
  std::vector<uint32_t> counts;
  for (const int32_t step : steps) counts.push_back(activities[static_cast<size_t>(step)]);
  const uint32_t median = LowerMedianOf(counts);
  const auto found = std::find(counts.begin(), counts.end(), median);
  return steps[static_cast<size_t>(found - counts.begin())];
}

}  // namespace lockstep
