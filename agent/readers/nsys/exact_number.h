// Whole numbers in text: all of the text or nothing.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::nsys {

template <typename Integer>
[[nodiscard]] std::optional<Integer> ParseInteger(std::string_view text, int base = 10) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[nodiscard]] inline std::optional<int32_t> ParseInt32(std::string_view text) { return ParseInteger<int32_t>(text); }
[[nodiscard]] inline std::optional<int64_t> ParseInt64(std::string_view text) { return ParseInteger<int64_t>(text); }

}  // namespace lockstep::nsys
