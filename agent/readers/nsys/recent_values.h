// What stood last for a key, for the keys seen of late: most rows repeat them. A look costs a comparison; forgets
// without notice. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lockstep::nsys {

template <typename Value, size_t kPlaces>
class RecentValues {
 public:
  // Null if it is not remembered; valid until the next Put.
  [[nodiscard]] const Value* Find(int64_t key) const {
    const Place& place = places_[PlaceOf(key)];
    return place.key == key && place.value.has_value() ? &*place.value : nullptr;
  }
  void Put(int64_t key, const Value& value) { places_[PlaceOf(key)] = {key, value}; }

 private:
  struct Place {
    int64_t key = 0;
    std::optional<Value> value;
  };
  static size_t PlaceOf(int64_t key) { return static_cast<uint64_t>(key) % kPlaces; }

  std::array<Place, kPlaces> places_{};
};

}  // namespace lockstep::nsys
