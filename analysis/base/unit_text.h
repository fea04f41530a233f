// Quantities in sentences: three digits in the unit that fits. Pure and thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

struct NamedUnit {
  std::string_view name;
  double size = 1;
};
inline constexpr std::array<NamedUnit, 4> kTimeUnits = {{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
inline constexpr std::array<NamedUnit, 5> kByteUnits = {
    {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};

// The largest unit of which the value is at least one.
template <size_t n>
[[nodiscard]] size_t UnitOf(const std::array<NamedUnit, n>& units, double magnitude) {
  size_t chosen = 0;
  while (chosen + 1 < n && magnitude >= units[chosen + 1].size) ++chosen;
  return chosen;
}

// "7.62 ms"
[[nodiscard]] std::string TimeText(double ns);
[[nodiscard]] inline std::string TimeText(int64_t ns) { return TimeText(static_cast<double>(ns)); }
// "4.19 MB"
[[nodiscard]] std::string BytesText(double bytes);
// "12.3 %"
[[nodiscard]] std::string PercentText(double ratio);
// "1,219"
[[nodiscard]] std::string CountText(int64_t count);

}  // namespace lockstep
