#include "agent/uplink/retry_hint.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

int64_t HintOf(std::string_view text) {
  absl::Status status = absl::UnavailableError("later");
  SetRetryAfterMs(status, text);
  return RetryAfterNs(status);
}

TEST(RetryHint, IsANumberOfMilliseconds) { EXPECT_EQ(HintOf("5000"), 5'000'000'000); }

TEST(RetryHint, OfAHostileAggregatorIsBoundedOrNone) {
  EXPECT_EQ(HintOf("9223372036854775807"), kLongestRetryAfterMs * 1'000'000);
  for (const char* text : {"", "-1", "0", "soon", "99999999999999999999", "1e9"}) {
    EXPECT_EQ(HintOf(text), 0) << text;
  }
}

TEST(RetryHint, IsSpreadOverHalfOfItselfAndNeverShortened) {
  EXPECT_EQ(Spread(1000, 0), 1000);
  EXPECT_EQ(Spread(1000, 0.5), 1250);
  EXPECT_EQ(Spread(0, 0.9), 0);
}

}  // namespace
}  // namespace lockstep
