#include "analysis/compare/kernel_places.h"

#include <algorithm>

namespace lockstep::compare {

PlacesFrom PlacesOfBoth(const Sides& sides) {
  bool all_know = true;
  ForEachRun(sides, [&all_know](const ComparedRun& run) {
    const std::vector<report::ProfileKernel>& kernels = run.profile.kernels;
    const bool knows = std::any_of(kernels.begin(), kernels.end(), [](const report::ProfileKernel& kernel) {
      return kernel.typical_places.has_value();
    });
    all_know = all_know && (knows || kernels.empty());
  });
  return all_know ? PlacesFrom::kTypicalStep : PlacesFrom::kQuartiles;
}

std::vector<double> PlacesOf(const report::ProfileKernel& kernel, PlacesFrom from) {
  if (from == PlacesFrom::kQuartiles) return kernel.places;
  std::vector<double> places;
  if (!kernel.typical_places || !kernel.typical_kernels) return places;
  const auto kernels = static_cast<double>(kernel.typical_kernels->value);
  for (const report::Count& place : *kernel.typical_places)
    places.push_back(static_cast<double>(place.value) / kernels);
  return places;
}

}  // namespace lockstep::compare
