#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "analysis/report/json.h"

namespace lockstep {
namespace {

std::string Text(const Json& value) {
  std::string text = RenderJson(value);
  text.pop_back();
  return text;
}

TEST(RenderJson, WritesRealsWithNineSignificantDigits) {
  EXPECT_EQ(Text(1.0 / 3), "0.333333333");
  EXPECT_EQ(Text(46.237000000004), "46.237");
  EXPECT_EQ(Text(1e12 / 7), "1.42857143e+11");
}

TEST(RenderJson, WritesWholeRealsInTheShortestForm) {
  EXPECT_EQ(Text(5.0), "5");
  EXPECT_EQ(Text(-0.0), "0");
}

TEST(RenderJson, WritesIntegersExactly) { EXPECT_EQ(Text(int64_t{9007199254740991}), "9007199254740991"); }

TEST(RenderJson, WritesTheLeastAndTheLargestIntegersExactly) {
  EXPECT_EQ(Text(INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(Text(UINT64_MAX), "18446744073709551615");
}

TEST(RenderJson, WritesTextsAndKeysThatCannotStandAsTheyAreEscaped) {
  for (const std::string text :
       {"plain", "with \"quotes\"", "back\\slash", "line\nbreak", "\x7f", "\x1f", "gr\xc3\xbc\xc3\x9f"}) {
    EXPECT_EQ(Text(text), Json(text).dump());
    EXPECT_EQ(Text(Json{{text, true}}), "{\n  " + Json(text).dump() + ": true\n}");
  }
}

TEST(RenderJson, WritesWhatIsNoNumberAsNull) {
  EXPECT_EQ(Text(std::nan("")), "null");
  EXPECT_EQ(Text(HUGE_VAL), "null");
}

TEST(RenderJson, ReplacesInvalidUtf8) {
  const std::string text = Text(Json(std::string("a\xff")));
  EXPECT_EQ(text, "\"a\xEF\xBF\xBD\"");
}

TEST(RenderJson, IndentsObjectsAndKeepsListsOfScalarsOnOneLine) {
  Json value;
  value["b"] = {1, 2};
  value["a"] = Json::array({Json{{"x", nullptr}}});
  value["c"] = Json::object();
  EXPECT_EQ(RenderJson(value),
            "{\n"
            "  \"b\": [1, 2],\n"
            "  \"a\": [\n"
            "    {\n"
            "      \"x\": null\n"
            "    }\n"
            "  ],\n"
            "  \"c\": {}\n"
            "}\n");
}

TEST(RenderJson, IsTheSameAfterATripThroughText) {
  Json value;
  value["ratio"] = 2.0 / 3;
  value["mean"] = 3.0;
  value["big"] = 1.23456789123e15;
  EXPECT_EQ(RenderJson(Json::parse(RenderJson(value))), RenderJson(value));
}

}  // namespace
}  // namespace lockstep
