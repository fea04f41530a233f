#include "analysis/metrics/stragglers/unit_places.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr size_t kMostPlaces = 16;
constexpr size_t kMostPlacesOfAll = 65'536;  // a quarter MB a unit

int64_t& CountOf(std::vector<int64_t>& counts, size_t unit) {
  if (counts.size() <= unit) counts.resize(unit + 1);
  return counts[unit];
}

}  // namespace

UnitPlaces::UnitPlaces(size_t ranks)
    : count_(std::clamp<size_t>(kMostPlacesOfAll / std::max<size_t>(1, ranks), 1, kMostPlaces)) {}

void UnitPlaces::Open(const Chapter& chapter, const ArrivalGraph& graph, UnitNumbers& numbers) {
  const size_t communicators = chapter.match.communicators.size();
  if (communicators_.size() < communicators) communicators_.resize(communicators);
  std::vector<std::vector<int64_t>> counts(communicators);  // [communicator][unit number] instances
  for (const uint32_t index : graph.order) {
    const MatchedInstance& instance = chapter.match.instances[index];
    if (communicators_[instance.communicator].per_place > 0 || !chapter.Owns(instance)) continue;
    const int64_t unit = numbers.NumberOf(instance);
    if (unit >= 0) ++CountOf(counts[instance.communicator], static_cast<size_t>(unit));
  }
  for (size_t communicator = 0; communicator < communicators; ++communicator) {
    if (counts[communicator].empty()) continue;
    const int64_t most = *std::max_element(counts[communicator].begin(), counts[communicator].end());
    const auto places = static_cast<int64_t>(count_);
    communicators_[communicator].per_place = (most + places - 1) / places;
  }
}

size_t UnitPlaces::Next(const MatchedInstance& instance, size_t unit) {
  OfCommunicator& of = communicators_[instance.communicator];
  const int64_t before = CountOf(of.seen, unit)++;
  return std::min(static_cast<size_t>(before / std::max<int64_t>(1, of.per_place)), count_ - 1);
}

}  // namespace lockstep
