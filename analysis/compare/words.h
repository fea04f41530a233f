// Changes in words: a sign, and three digits. Pure, thread safe.
#pragma once

#include <string>
#include <utility>

#include "analysis/compare/rows/comparison.h"

namespace lockstep::compare {

// "+2.72 us", "-1.2 ms".
[[nodiscard]] std::string SignedTime(double ns);
// "+2.1 %"; "55x" for what has become ten times as much and more.
[[nodiscard]] std::string SignedPercent(double ratio);
// Whether a change of this ratio is told as a factor.
[[nodiscard]] bool IsManyTimes(double ratio);
// The interval of the change `ratio`, both ends in the unit in which that is shown: "+1.1 % to +3.1 %", "51x to 59x".
// No time falls below nothing, so that an interval that reaches further ends there.
[[nodiscard]] std::string PercentRange(double ratio, const std::pair<double, double>& range);
// "2.1 %".
[[nodiscard]] std::string PlainPercent(double ratio);

// Of a gate: "measured +5.2 % (95 % interval +3.1 % to +7.3 %)".
[[nodiscard]] std::string MeasuredText(const report::GateResult& gate);

}  // namespace lockstep::compare
