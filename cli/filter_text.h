// What a person writes to restrict a report or to choose which runs to remove: numbers, ranges, durations, sizes. Pure.
//
// kInvalidArgument names the flag, its value and what is understood. Memory stays within what the values need,
// whatever the text.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

// "1m2s500ms", "250us", "90" (seconds) -> ns.
absl::StatusOr<int64_t> ParseDuration(std::string_view text);
// "4..5", "7" (that one alone).
absl::StatusOr<std::pair<int64_t, int64_t>> ParseStepRange(std::string_view text);
// "5s..7s"
absl::StatusOr<std::pair<int64_t, int64_t>> ParseTimeRange(std::string_view text);
// "0,2,8-15"
absl::StatusOr<std::vector<int32_t>> ParseRanks(std::string_view text);

// "7d", "12h", "30m", "90s" -> ns. kInvalidArgument says what is understood.
absl::StatusOr<int64_t> ParseAge(std::string_view text);
// "10G", "500M", "64K", "123" -> bytes; the units are powers of 1024.
absl::StatusOr<int64_t> ParseByteCount(std::string_view text);

// A whole decimal number and nothing else.
[[nodiscard]] std::optional<int64_t> ToInteger(std::string_view text);
// "FLAG 'MET' is not understood; use UNDERSTOOD".
[[nodiscard]] absl::Status Complain(std::string_view flag, std::string_view met, std::string_view understood);

}  // namespace lockstep
