// What an aggregator says about when to try again, carried by the status with which it ended a stream or put off a
// source. Pure.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string_view>

namespace lockstep {

// No aggregator keeps an agent away for longer at a time.
inline constexpr int64_t kLongestRetryAfterMs = 60'000;

// `text` is a number of milliseconds; anything else is no hint. Of an OK status nothing is kept.
void SetRetryAfterMs(absl::Status& status, std::string_view text);
void SetRetryAfterMs(absl::Status& status, int64_t ms);

// 0 = it does not say. At most kLongestRetryAfterMs.
[[nodiscard]] int64_t RetryAfterNs(const absl::Status& status);

// So that all who were told the same do not come back at once: up to half as long again. `random` is in [0, 1).
[[nodiscard]] int64_t Spread(int64_t ns, double random);

}  // namespace lockstep
