#include "agent/uplink/retry_hint.h"

#include <absl/strings/cord.h>
#include <absl/strings/numbers.h>

#include <algorithm>
#include <string>

#include "analysis/base/time.h"

namespace lockstep {
namespace {

constexpr const char* kMark = "lockstep/retry_after_ms";

}  // namespace

void SetRetryAfterMs(absl::Status& status, std::string_view text) {
  int64_t ms = 0;
  if (absl::SimpleAtoi(std::string(text), &ms)) {
    SetRetryAfterMs(status, ms);
  }
}

void SetRetryAfterMs(absl::Status& status, int64_t ms) {
  if (ms > 0) {
    status.SetPayload(kMark, absl::Cord(std::to_string(std::min(ms, kLongestRetryAfterMs))));
  }
}

int64_t RetryAfterNs(const absl::Status& status) {
  const auto said = status.GetPayload(kMark);
  int64_t ms = 0;
  return said && absl::SimpleAtoi(std::string(*said), &ms) ? ms * kNsPerMs : 0;
}

int64_t Spread(int64_t ns, double random) { return ns + static_cast<int64_t>(static_cast<double>(ns) * random / 2); }

}  // namespace lockstep
