#include "analysis/report/views/profile_places.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/model/launch_places.h"

namespace lockstep {
namespace {

void AddSharesOfStep(const std::map<int64_t, const StepRow*>& steps, const KernelRow& row,
                     std::vector<double>& places) {
  for (const Exemplar& exemplar : row.longest) {
    const auto found = steps.find(exemplar.step);
    if (exemplar.step == kNoStep || found == steps.end() || found->second->tile.span_ns <= 0) continue;
    const StepRow& step = *found->second;
    const double since = static_cast<double>(exemplar.start_ns) - static_cast<double>(step.window_start_ns);
    places.push_back(std::clamp(since / static_cast<double>(step.tile.span_ns), 0.0, 1.0));
  }
}

std::vector<double> QuartilesOf(std::vector<double> values) {
  if (values.empty()) return values;
  std::sort(values.begin(), values.end());
  constexpr std::array<double, 5> kQuartiles = {0, 0.25, 0.5, 0.75, 1};
  std::vector<double> quartiles;
  for (const double q : kQuartiles) {
    quartiles.push_back(values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))]);
  }
  return quartiles;
}

// Of the first rank that has any, all keys of the name together.
std::pair<size_t, std::vector<uint32_t>> TypicalPlacesOf(const KernelGroup& group) {
  std::map<size_t, std::vector<uint32_t>> by_member;
  for (const auto& [member, row] : group.rows) MergePlaces(row->places, by_member[member]);
  for (auto& [member, places] : by_member) {
    if (!places.empty()) return {member, std::move(places)};
  }
  return {};
}

}  // namespace

const ProfilePlaces::StepsByNumber& ProfilePlaces::StepsOf(size_t member) {
  const auto [steps, is_new] = steps_.try_emplace(member);
  if (is_new) {
    for (const StepRow& step : SourceOf(member).steps) steps->second.emplace(step.step, &step);
  }
  return steps->second;
}

// The last launch of each key is always kept, so the last kernel of the step is.
int64_t ProfilePlaces::KernelsOfTypicalStep(size_t member) {
  const auto [kernels, is_new] = kernels_.try_emplace(member, 0);
  if (is_new) {
    for (const KernelRow& row : SourceOf(member).kernels) {
      if (!row.places.empty()) kernels->second = std::max(kernels->second, int64_t{row.places.back()} + 1);
    }
  }
  return kernels->second;
}

void ProfilePlaces::AddTo(const KernelGroup& group, report::ProfileKernel& kernel) {
  if (group.rows.empty()) return;
  const size_t first = group.rows.front().first;
  std::vector<double> shares;
  for (const auto& [member, row] : group.rows) {
    if (member == first) AddSharesOfStep(StepsOf(member), *row, shares);
  }
  kernel.places = QuartilesOf(std::move(shares));
  const auto [member, places] = TypicalPlacesOf(group);
  if (places.empty()) return;
  kernel.typical_places.emplace();
  for (const uint32_t place : places) kernel.typical_places->emplace_back(int64_t{place});
  kernel.typical_kernels = KernelsOfTypicalStep(member);
}

}  // namespace lockstep
