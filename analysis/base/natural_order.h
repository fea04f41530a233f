// The order in which people expect paths: "rank2" before "rank10".
#pragma once

#include <string_view>

namespace lockstep {

// Digit runs compare as numbers of any length, other bytes by value; a total order: what is equal so far ("a01", "a1")
// is decided by plain bytes. Pure, thread safe.
[[nodiscard]] bool NaturalPathLess(std::string_view a, std::string_view b);

}  // namespace lockstep
