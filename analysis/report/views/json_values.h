// Absent knowledge is null.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "analysis/report/json.h"

namespace lockstep {

template <typename Value>
[[nodiscard]] Json OrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}
[[nodiscard]] inline Json TextOrNull(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }
[[nodiscard]] inline Json Ratio(int64_t part, int64_t whole) {
  return whole > 0 ? Json(static_cast<double>(part) / static_cast<double>(whole)) : Json(nullptr);
}

}  // namespace lockstep
