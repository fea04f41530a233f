#include "platform/log.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

TEST(Log, NamesOfLevelsAreExact) {
  EXPECT_EQ(LogLevelFromName("warning"), LogLevel::kWarning);
  EXPECT_EQ(LogLevelFromName("off"), LogLevel::kOff);
  EXPECT_EQ(LogLevelFromName("Warning"), std::nullopt);
  EXPECT_EQ(LogLevelFromName(""), std::nullopt);
}

TEST(Log, MessagesBelowTheLevelAreDropped) {
  SetLogLevel(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  LogInfo("not {}", "this");
  LogWarning("but {}", "that");
  const std::string written = testing::internal::GetCapturedStderr();
  EXPECT_EQ(written.find("this"), std::string::npos);
  EXPECT_NE(written.find("warning but that\n"), std::string::npos) << written;
}

TEST(Log, BracesInAMessageAreOnlyText) {
  testing::internal::CaptureStderr();
  Log(LogLevel::kError, "{} {0:x}");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("{} {0:x}"), std::string::npos);
}

TEST(Log, OffIsNeverEnabled) {
  SetLogLevel(LogLevel::kOff);
  EXPECT_FALSE(LogEnabled(LogLevel::kError));
  SetLogLevel(LogLevel::kWarning);
}

}  // namespace
}  // namespace lockstep
