// Changes in words: a sign, and three digits. Pure, thread safe.
#pragma once

#include <string>

namespace lockstep::compare {

// "+2.72 us", "-1.2 ms".
[[nodiscard]] std::string SignedTime(double ns);
// "+2.1 %".
[[nodiscard]] std::string SignedPercent(double ratio);
// "2.1 %".
[[nodiscard]] std::string PlainPercent(double ratio);

}  // namespace lockstep::compare
