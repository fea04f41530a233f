// Absent knowledge is std::nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep {

// Nothing for an empty text.
[[nodiscard]] inline std::optional<std::string> TextIfAny(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}
// Nothing for an id that is negative, which stands for an unknown one.
[[nodiscard]] inline std::optional<int64_t> IdIfAny(int64_t id) {
  return id < 0 ? std::nullopt : std::optional<int64_t>(id);
}
// Nothing where the whole is not positive.
[[nodiscard]] inline std::optional<double> ShareOf(int64_t part, int64_t whole) {
  if (whole <= 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}
template <typename Value>
[[nodiscard]] std::optional<Value> KnownIf(bool known, Value value) {
  return known ? std::optional<Value>(std::move(value)) : std::nullopt;
}

}  // namespace lockstep
