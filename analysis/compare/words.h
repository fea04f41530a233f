// Changes in words: a sign, and three digits. Pure, thread safe.
#pragma once

#include <string>

#include "analysis/compare/rows/comparison.h"

namespace lockstep::compare {

// "+2.72 us", "-1.2 ms".
[[nodiscard]] std::string SignedTime(double ns);
// "+2.1 %"; "x 55" for what has become ten times as much and more.
[[nodiscard]] std::string SignedPercent(double ratio);
// "2.1 %".
[[nodiscard]] std::string PlainPercent(double ratio);

// Of a gate: "measured +5.2 % (95 % interval +3.1 % to +7.3 %)".
[[nodiscard]] std::string MeasuredText(const report::GateResult& gate);

}  // namespace lockstep::compare
