// Log lines stay lines, whatever a trace or a stranger put into them.
#include "platform/log.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

TEST(Log, PlainTextIsAsItWasSaid) {
  EXPECT_EQ(LogText(LogFormat::kText, "rank 3: \"used\", caf\xc3\xa9 \xe6\x97\xa5 C:\\x"),
            "rank 3: \"used\", caf\xc3\xa9 \xe6\x97\xa5 C:\\x");
}

TEST(Log, AMessageCannotMakeASecondLineOrMoveTheCursor) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    EXPECT_EQ(LogText(format, "a\nb\rc\td"), "a\\nb\\u000dc\\u0009d");
    EXPECT_EQ(LogText(format, "\x1b[2J\x7f"), "\\u001b[2J\\u007f");
    EXPECT_EQ(LogText(format,
                      "\xc2\x9b"
                      "31m"),
              "\\u009b31m")
        << "a C1 control";
    EXPECT_EQ(LogText(format,
                      "\xe2\x80\xae"
                      "gnp.exe"),
              "\\u202egnp.exe")
        << "a direction mark";
    EXPECT_EQ(LogText(format, std::string_view("a\0b", 3)), "a\\u0000b");
    EXPECT_EQ(LogText(format,
                      "a\xff"
                      "b"),
              "a\xef\xbf\xbd"
              "b")
        << "a bad byte";
  }
}

TEST(Log, AMessageCannotLeaveItsJsonString) {
  EXPECT_EQ(LogText(LogFormat::kJson, R"(x","level":"error \)"), R"(x\",\"level\":\"error \\)");
}

TEST(Log, JsonIsOneObjectALine) {
  SetLogFormat(LogFormat::kJson);
  testing::internal::CaptureStderr();
  LogWarning("run '{}'", "a\"b\nc");
  const std::string line = testing::internal::GetCapturedStderr();
  SetLogFormat(LogFormat::kText);
  EXPECT_TRUE(line.starts_with("{\"time\":\"2")) << line;
  EXPECT_TRUE(line.ends_with("Z\",\"level\":\"warning\",\"message\":\"run 'a\\\"b\\nc'\"}\n")) << line;
}

TEST(Log, FormatsHaveNames) {
  EXPECT_EQ(LogFormatFromName("json"), LogFormat::kJson);
  EXPECT_EQ(LogFormatFromName("text"), LogFormat::kText);
  EXPECT_FALSE(LogFormatFromName("JSON"));
}

}  // namespace
}  // namespace lockstep
