#include "platform/web/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(ParseTarget, SplitsBeforeItDecodesSoThatAnEncodedSlashIsPartOfAName) {
  const auto target = ParseTarget("/runs/a%2Fb%20c/page?view=x%2Cy&view=z+1&empty=&flag");
  ASSERT_TRUE(target);
  EXPECT_THAT(target->segments, ElementsAre("runs", "a/b c", "page"));
  EXPECT_THAT(target->parameters,
              ElementsAre(Pair("view", "x,y"), Pair("view", "z 1"), Pair("empty", ""), Pair("flag", "")));
  EXPECT_EQ(*target->Find("view"), "x,y");
  EXPECT_EQ(target->Find("View"), nullptr);
}

TEST(ParseTarget, DotsAreNamesLikeOthersAndDecodingHappensOnce) {
  EXPECT_THAT(ParseTarget("/runs/../%2e%2e/etc")->segments, ElementsAre("runs", "..", "..", "etc"));
  EXPECT_THAT(ParseTarget("/%252e")->segments, ElementsAre("%2e"));
  EXPECT_THAT(ParseTarget("/")->segments, IsEmpty());
  EXPECT_THAT(ParseTarget("//")->segments, ElementsAre("", ""));
  EXPECT_THAT(ParseTarget("/a/")->segments, ElementsAre("a", ""));
}

TEST(ParseTarget, RefusesWhatIsNoPath) {
  for (const char* text : {"", "runs", "*", "http://x/", "/%", "/%2", "/%zz", "/a%g0", "/?a=%", "/a#b", "/a b", "/\x01",
                           "/\xC3\xA4", "/a\x7F"}) {
    EXPECT_FALSE(ParseTarget(text)) << text;
  }
}

TEST(PercentEncode, EveryByteComesBackInAPathAndInAQuery) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const auto target = ParseTarget("/" + PercentEncode(all) + "?" + PercentEncode(all) + "=" + PercentEncode(all));
  ASSERT_TRUE(target);
  EXPECT_THAT(target->segments, ElementsAre(all));
  EXPECT_THAT(target->parameters, ElementsAre(Pair(all, all)));
  EXPECT_EQ(ParseTarget("/" + QueryText(*target))->parameters, target->parameters);
}

TEST(ParseTarget, TakesAnyBytesWithoutHarm) {
  std::mt19937 draw(11);
  const std::string alphabet = "/%?&=+#.2fFg\x01\xFF a";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = "/";
    for (size_t length = draw() % 24; length > 0; --length) text += alphabet[draw() % alphabet.size()];
    const auto target = ParseTarget(text);
    if (!target) continue;
    std::string again;
    for (const std::string& segment : target->segments) again += "/" + PercentEncode(segment);
    const auto twice = ParseTarget((again.empty() ? "/" : again) + QueryText(*target));
    ASSERT_TRUE(twice) << text;
    EXPECT_EQ(twice->segments, target->segments) << text;
    EXPECT_EQ(twice->parameters, target->parameters) << text;
  }
}

}  // namespace
}  // namespace lockstep
