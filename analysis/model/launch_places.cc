#include "analysis/model/launch_places.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lockstep {

void AddPlace(uint32_t place, std::vector<uint32_t>& places) {
  if (places.size() < kMaxPlaces) {
    places.push_back(place);
  } else {
    places.back() = place;
  }
}

void MergePlaces(const std::vector<uint32_t>& from, std::vector<uint32_t>& into) {
  std::vector<uint32_t> all;
  std::set_union(into.begin(), into.end(), from.begin(), from.end(), std::back_inserter(all));
  if (all.size() > kMaxPlaces) {
    all[kMaxPlaces - 1] = all.back();
    all.resize(kMaxPlaces);
  }
  into = std::move(all);
}

}  // namespace lockstep
