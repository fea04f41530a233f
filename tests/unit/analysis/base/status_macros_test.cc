#include "analysis/base/status_macros.h"

#include <gtest/gtest.h>

#include <memory>

namespace lockstep {
namespace {

absl::StatusOr<std::unique_ptr<int>> Make(bool good) {
  if (!good) return absl::NotFoundError("no number");
  return std::make_unique<int>(7);
}

absl::StatusOr<int> Twice(bool good, bool& went_on) {
  LOCKSTEP_ASSIGN_OR_RETURN(const auto number, Make(good));
  went_on = true;
  return 2 * *number;
}

absl::Status Check(bool good, bool& went_on) {
  LOCKSTEP_RETURN_IF_ERROR(Make(good).status());
  went_on = true;
  return absl::OkStatus();
}

TEST(StatusMacros, AssignPassesTheValueOn) {
  bool went_on = false;
  EXPECT_EQ(*Twice(true, went_on), 14);
  EXPECT_TRUE(went_on);
}

TEST(StatusMacros, AssignReturnsTheErrorUnchanged) {
  bool went_on = false;
  EXPECT_EQ(Twice(false, went_on).status(), absl::NotFoundError("no number"));
  EXPECT_FALSE(went_on);
}

TEST(StatusMacros, ReturnIfErrorReturnsOnlyErrors) {
  bool went_on = false;
  EXPECT_FALSE(Check(false, went_on).ok());
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(Check(true, went_on).ok());
  EXPECT_TRUE(went_on);
}

}  // namespace
}  // namespace lockstep
