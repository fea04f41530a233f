#include "analysis/compare/words.h"

#include <fmt/format.h>

#include <cmath>

#include "analysis/base/unit_text.h"

namespace lockstep::compare {
namespace {

constexpr double kManyTimes = 9;  // of a change: from here on people read a factor more easily

}  // namespace

std::string SignedTime(double ns) { return fmt::format("{}{}", ns < 0 ? "-" : "+", TimeText(std::abs(ns))); }

std::string SignedPercent(double ratio) {
  return ratio >= kManyTimes ? fmt::format("{:.3g}x", 1 + ratio) : fmt::format("{:+.1f} %", 100 * ratio);
}

std::string MeasuredText(const report::GateResult& gate) {
  if (!gate.value) return fmt::format("not measured: {}", gate.metric);
  const bool is_share = gate.gate.ends_with('%');
  const auto text = [&](double value) { return is_share ? SignedPercent(value) : SignedTime(value); };
  if (!gate.interval) return fmt::format("measured {}, but it is not known how sure that is", text(*gate.value));
  return fmt::format("measured {} (95 % interval {} to {})", text(*gate.value), text(gate.interval->first),
                     text(gate.interval->second));
}

std::string PlainPercent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

}  // namespace lockstep::compare
