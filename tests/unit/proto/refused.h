// What decoding says of bytes that it refuses.
#pragma once

#include <absl/status/statusor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockstep {

template <typename Decoded>
void ExpectRefused(const absl::StatusOr<Decoded>& decoded, const std::string& words) {
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(decoded.status().message()), testing::HasSubstr(words));
}

}  // namespace lockstep
