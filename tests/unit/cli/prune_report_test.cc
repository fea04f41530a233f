#include "cli/prune_report.h"
#include "cli/filter_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report/json.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

TEST(PruneReport, AgesAndSizesAreNumbersWithAUnit) {
  EXPECT_EQ(ParseAge("7d").value(), int64_t{604'800} * 1'000'000'000);
  EXPECT_EQ(ParseAge("90s").value(), int64_t{90} * 1'000'000'000);
  EXPECT_EQ(ParseAge("0s").value(), 0);
  EXPECT_EQ(ParseByteCount("10G").value(), int64_t{10'737'418'240});
  EXPECT_EQ(ParseByteCount("123").value(), 123);
}

TEST(PruneReport, WhatIsNotUnderstoodIsRefused) {
  for (const char* text : {"", "d", "7", "-1d", "7 d", "7D", "7days", "1.5h", "99999999999999999d", "7d7"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseAge(text).status())) << text;
  }
  for (const char* text : {"", "G", "-5", "10GB", "1e9", "9223372036854775808", "99999999T"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseByteCount(text).status())) << text;
  }
}

const std::vector<PruneVerdict> kVerdicts = {
    {.run = "old", .bytes = 3 << 20, .changed_unix_ns = 0, .removed = true},
    {.run = "\x1b[31mbusy", .bytes = 1 << 20, .changed_unix_ns = 0, .removed = false, .reason = "being written"}};

TEST(PruneReport, TheTextSaysWhatWentAndNoEscapeGetsThrough) {
  const std::string text = PruneAsText(kVerdicts, false, 7'200'000'000'000);
  EXPECT_THAT(text, HasSubstr("removed 1 of 2 runs, 3.00 MiB"));
  EXPECT_THAT(text, HasSubstr("kept: being written"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(PruneAsText(kVerdicts, true, 0), HasSubstr("would remove 1 of 2 runs"));
}

TEST(PruneReport, TheJsonHasEveryRun) {
  const Json document = Json::parse(PruneAsJson(kVerdicts, true));
  EXPECT_EQ(document["schema"], "lockstep.prune/1");
  EXPECT_EQ(document["removed_bytes"], 3 << 20);
  EXPECT_EQ(document["runs"].size(), 2U);
  EXPECT_EQ(document["runs"][1]["reason"], "being written");
}

}  // namespace
}  // namespace lockstep
