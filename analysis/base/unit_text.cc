#include "analysis/base/unit_text.h"

#include <fmt/format.h>

#include <cmath>

namespace lockstep {
namespace {

template <size_t n>
std::string InOwnUnit(const std::array<NamedUnit, n>& units, double value) {
  const NamedUnit unit = units[UnitOf(units, std::abs(value))];
  const double scaled = value / unit.size;
  const bool whole = unit.size <= 1 || std::abs(scaled) >= 100 || std::fmod(value, unit.size) == 0;
  return fmt::format("{:.{}f} {}", scaled, whole ? 0 : std::abs(scaled) >= 10 ? 1 : 2, unit.name);
}

}  // namespace

std::string TimeText(double ns) { return InOwnUnit(kTimeUnits, ns); }

std::string BytesText(double bytes) { return InOwnUnit(kByteUnits, bytes); }

std::string PercentText(double ratio) {
  const double percent = 100 * ratio;
  const double magnitude = std::abs(percent);
  const int decimals = percent == 0 || magnitude >= 99.95 ? 0 : magnitude < 1 ? 2 : 1;
  return fmt::format("{:.{}f} %", percent, decimals);
}

std::string CountText(int64_t count) {
  const std::string digits = fmt::format("{}", count);
  const size_t sign = count < 0 ? 1 : 0;
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace lockstep
