#include "web/json/report_json.h"
#include "analysis/report/json.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

// The tree that its own parser makes of the text: the same values, of the same types.
void ExpectAsItself(const std::string& text) {
  const Json expected = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Json parsed = ParseReport(text);
  ASSERT_EQ(parsed.is_discarded(), expected.is_discarded()) << text;
  if (expected.is_discarded()) return;
  EXPECT_EQ(parsed, expected) << text;
  EXPECT_EQ(parsed.type(), expected.type()) << text;
  EXPECT_EQ(parsed.dump(), expected.dump()) << text;
  EXPECT_EQ(RenderJson(parsed), RenderJson(expected)) << text;
}

TEST(ReportJson, EveryKindOfValueIsReadAsByTheTreeItself) {
  for (const char* const text : {"{}",
                                 "[]",
                                 "null",
                                 "true",
                                 "false",
                                 "0",
                                 "7",
                                 "-7",
                                 "9223372036854775807",
                                 "9223372036854775808",
                                 "18446744073709551615",
                                 "-9223372036854775808",
                                 "0.5",
                                 "-0.25",
                                 "1e5",
                                 "1E-9",
                                 "0.110839844",
                                 "123456.789e-3",
                                 "4.9e-324",
                                 "1.7976931348623157e308",
                                 "-0.0",
                                 "\"\"",
                                 "\"text\"",
                                 R"("\"\\\/\b\f\n\r\t\u00e4\ud83d\ude00")",
                                 "\"\xc3\xa4\"",
                                 " [ 1 , [ ] , { \"a\" : { } } ] \n"}) {
    ExpectAsItself(text);
  }
}

TEST(ReportJson, MembersKeepTheirOrder) {
  const std::string text = R"({"z": 1, "a": [1, -2, 3.5, "x", null, true], "m": {"b": {}, "a": []}})";
  ExpectAsItself(text);
  EXPECT_EQ(ParseReport(text).begin().key(), "z");
}

TEST(ReportJson, OfEqualMembersTheLastOneCounts) {
  const std::string text = R"({"a": 1, "b": 2, "a": 3})";
  ExpectAsItself(text);
  EXPECT_EQ(ParseReport(text).dump(), R"({"a":3,"b":2})");
}

TEST(ReportJson, WhatOnlyTheTreesOwnParserTakesIsReadAllTheSame) {
  ExpectAsItself("18446744073709551616");
  ExpectAsItself("[1, 123456789012345678901234567890]");
}

// Compared by walking down: writing or comparing such trees takes a stack that sanitizers have not.
TEST(ReportJson, HoweverDeepItIsReadToTheGround) {
  constexpr int kDepth = 2'000;
  const Json parsed = ParseReport(std::string(kDepth, '[') + std::string(kDepth, ']'));
  int depth = 0;
  for (const Json* at = &parsed; at->is_array(); at = &at->front()) {
    ++depth;
    if (at->empty()) break;
  }
  EXPECT_EQ(depth, kDepth);
}

TEST(ReportJson, WhatIsNoDocumentIsDiscarded) {
  for (const char* const text : {"", " ", "{", "[1,]", "{\"a\" 1}", "{} {}", "nul", "01", "1.", "+1", "\"a", "\"\t\"",
                                 "\"\xff\"", "\"\\ud800\"", "1e400", "{\"a\": 1,}", "[1] x"}) {
    ExpectAsItself(text);
    EXPECT_TRUE(ParseReport(text).is_discarded()) << text;
  }
}

}  // namespace
}  // namespace lockstep
