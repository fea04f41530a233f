#include "agent/readers/kineto/json_scanner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep::kineto {
namespace {

Scan ScanText(std::string_view text, JsonToken& token) { return JsonScanner(text).Value(token); }

TEST(JsonScanner, ContainersAreSteppedOverWhole) {
  constexpr std::string_view kText = R"({"a":[1,{"b":"]}\""}],"c":null},)";
  JsonToken token;
  ASSERT_EQ(ScanText(kText, token), Scan::kOk);
  EXPECT_EQ(token.text, kText.substr(0, kText.size() - 1));
}

TEST(JsonScanner, EveryProperPrefixAsksForMore) {
  const std::string text = R"({"a b":[1.5e3,"x\\\"y",{"c":{}}],"d":true})";
  for (size_t cut = 0; cut < text.size(); ++cut) {
    JsonToken token;
    EXPECT_EQ(ScanText(text.substr(0, cut), token), Scan::kMore) << cut;
  }
}

TEST(JsonScanner, NumbersOutsideJsonPassAsScalars) {
  for (const char* text : {"NaN", "Infinity", "-inf", "+1", ".5"}) {
    const std::string followed = std::string(text) + "}";
    JsonToken token;
    ASSERT_EQ(ScanText(followed, token), Scan::kOk);
    EXPECT_EQ(token.text, text);
  }
}

TEST(JsonScanner, TrailingAndRepeatedCommasPass) {
  std::vector<std::string> keys;
  const Scan scan = JsonScanner(R"({,"a":1,,"b":[1,,2,],})").Object([&](const JsonToken& key, const JsonToken&) {
    keys.emplace_back(key.text);
  });
  EXPECT_EQ(scan, Scan::kOk);
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "b"}));
}

TEST(JsonScanner, AnUnescapedQuoteBreaksAtOnce) {
  for (const char* text : {R"({"a":"x"y","b":1}, )", R"({"a":{"b":"x"y"}}, )", R"(["x"y])"}) {
    JsonToken token;
    EXPECT_EQ(ScanText(text, token), Scan::kBroken) << text;
  }
}

TEST(JsonScanner, WrongBracketsBreak) {
  for (const char* text : {R"({"a":[1}] )", R"([{"a":1]} )", R"(["a":1] )", R"({"a":1:2} )"}) {
    JsonToken token;
    EXPECT_EQ(ScanText(text, token), Scan::kBroken) << text;
  }
}

TEST(JsonScanner, AMemberWithoutColonOrKeyBreaksItsObject) {
  for (const char* text : {R"({"a" "b"} )", R"({1:2} )", R"({"a":} )"}) {
    EXPECT_EQ(JsonScanner(text).Object([](const JsonToken&, const JsonToken&) {}), Scan::kBroken) << text;
  }
}

TEST(JsonScanner, DeepNestingIsRefusedWithoutRecursion) {
  const std::string deep(100000, '[');
  JsonToken token;
  EXPECT_EQ(ScanText(deep, token), Scan::kBroken);
}

TEST(Unescape, KnownEscapesBecomeTheirBytes) {
  bool repaired = false;
  EXPECT_EQ(Unescape(R"(a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00)", repaired), "a\"\\/\b\f\n\r\t\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_FALSE(repaired);
}

TEST(Unescape, InvalidEscapesStayAndAreTold) {
  for (const char* text : {R"(C:\Users)", R"(a\.b)", R"(\u12)", R"(\uZZZZ)"}) {
    bool repaired = false;
    EXPECT_EQ(Unescape(text, repaired), text);
    EXPECT_TRUE(repaired) << text;
  }
}

TEST(Unescape, ALoneSurrogateBecomesTheReplacementCharacter) {
  bool repaired = false;
  EXPECT_EQ(Unescape(R"(\ud83dx)", repaired), "\xEF\xBF\xBDx");
  EXPECT_TRUE(repaired);
}

TEST(ValueSkipper, EndsAtTheSameByteHoweverThePiecesAreCut) {
  const std::string value = R"({"a":"}\"\\","b":[{"c":"]"},[]]})";
  const std::string text = value + R"(,{"next":1})";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    ValueSkipper skipper;
    size_t consumed = 0;
    for (size_t at = 0; at < text.size() && !skipper.done(); at += piece) {
      consumed += skipper.Feed(std::string_view(text).substr(at, piece));
    }
    EXPECT_TRUE(skipper.done());
    EXPECT_EQ(consumed, value.size()) << piece;
  }
}

}  // namespace
}  // namespace lockstep::kineto
