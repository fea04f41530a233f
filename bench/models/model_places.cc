#include "bench/models/model_places.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "analysis/compare/kernel_places.h"
#include "analysis/model/launch_places.h"

namespace lockstep::compare {
namespace {

std::vector<double> QuartilesOf(const std::vector<double>& places) {
  std::vector<double> quartiles;
  for (size_t quarter = 0; quarter <= 4 && !places.empty(); ++quarter) {
    quartiles.push_back(places[quarter * (places.size() - 1) / 4]);
  }
  return quartiles;
}

// All launches of the step, in the order of their start, are counted as the condenser counts them.
std::vector<report::ProfileKernel> ProfileOf(const std::vector<KernelOfRun>& kernels) {
  std::vector<std::pair<double, size_t>> launches;
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (const double start : kernels[k].places) launches.emplace_back(start, k);
  }
  std::sort(launches.begin(), launches.end());
  std::vector<std::vector<uint32_t>> places(kernels.size());
  for (size_t i = 0; i < launches.size(); ++i) AddPlace(static_cast<uint32_t>(i), places[launches[i].second]);
  std::vector<report::ProfileKernel> profile(kernels.size());
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (places[k].empty()) continue;
    profile[k].typical_places.emplace();
    for (const uint32_t place : places[k]) profile[k].typical_places->emplace_back(int64_t{place});
    profile[k].typical_kernels = launches.size();
  }
  return profile;
}

}  // namespace

void KeepPlaces(ModelPlaces kept, std::vector<KernelOfRun>& kernels) {
  if (kept == ModelPlaces::kEveryLaunch) return;
  if (kept == ModelPlaces::kTypicalStep) {
    const std::vector<report::ProfileKernel> profile = ProfileOf(kernels);
    for (size_t k = 0; k < kernels.size(); ++k) kernels[k].places = PlacesOf(profile[k], PlacesFrom::kTypicalStep);
    return;
  }
  for (KernelOfRun& kernel : kernels) {
    kernel.places = kept == ModelPlaces::kQuartiles ? QuartilesOf(kernel.places) : std::vector<double>();
  }
}

}  // namespace lockstep::compare
