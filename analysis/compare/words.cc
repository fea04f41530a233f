#include "analysis/compare/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analysis/base/unit_text.h"

namespace lockstep::compare {
namespace {

constexpr double kManyTimes = 9;  // of a change: from here on people read a factor more easily
constexpr std::string_view kNonZeroDigits = "123456789";

std::string Factor(double ratio) { return fmt::format("{:.3g}x", 1 + ratio); }

// What is shown as zero has no sign.
std::string Percent(double ratio) {
  std::string text = fmt::format("{:+.1f} %", 100 * ratio);
  return text.find_first_of(kNonZeroDigits) == std::string::npos ? text.substr(1) : text;
}

}  // namespace

bool IsManyTimes(double ratio) { return ratio >= kManyTimes; }

std::string SignedTime(double ns) {
  const std::string size = TimeText(std::abs(ns));
  const bool is_zero = size.find_first_of(kNonZeroDigits) == std::string::npos;
  return fmt::format("{}{}", is_zero ? "" : ns < 0 ? "-" : "+", size);
}

std::string SignedPercent(double ratio) { return IsManyTimes(ratio) ? Factor(ratio) : Percent(ratio); }

std::string PercentRange(double ratio, const std::pair<double, double>& range) {
  const auto text = [&](double end) {
    const double possible = std::max(-1.0, end);
    return IsManyTimes(ratio) ? Factor(possible) : Percent(possible);
  };
  return fmt::format("{} to {}", text(range.first), text(range.second));
}

std::string MeasuredText(const report::GateResult& gate) {
  if (!gate.value) return fmt::format("not measured: {}", gate.metric);
  const bool is_share = gate.gate.ends_with('%');
  const auto text = [&](double value) { return is_share ? SignedPercent(value) : SignedTime(value); };
  if (!gate.interval) return fmt::format("measured {}, but it is not known how sure that is", text(*gate.value));
  const std::string range =
      is_share ? PercentRange(*gate.value, *gate.interval)
               : fmt::format("{} to {}", SignedTime(gate.interval->first), SignedTime(gate.interval->second));
  return fmt::format("measured {} (95 % interval {})", text(*gate.value), range);
}

std::string PlainPercent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

}  // namespace lockstep::compare
