// Exact numbers out of decimal text, without double: times keep every nanosecond, ids every bit. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::kineto {

// The number in `text` times 10^scale, rounded to the nearest integer, halves away from zero. Accepts a sign, digits, a
// fraction and an exponent; nothing for any other text (also NaN and Infinity) and for values beyond int64. 0 <= scale
// <= 18.
[[nodiscard]] std::optional<int64_t> ParseScaled(std::string_view text, int scale);

// A non-negative integer up to 2^64 - 1; fractions and exponents are accepted, a fraction is rounded.
[[nodiscard]] std::optional<uint64_t> ParseUnsigned(std::string_view text);

}  // namespace lockstep::kineto
