#include "agent/readers/kineto/resync.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep::kineto {
namespace {

using Kind = ResyncPoint::Kind;

TEST(Resync, TheNextEventIsFoundBehindTheBrokenOne) {
  const std::string text = "bad\" quote\"}},\n  {\n \"ph\": \"X\"";
  const ResyncPoint point = FindNextEvent(text, false);
  EXPECT_EQ(point.kind, Kind::kEvent);
  EXPECT_EQ(text.substr(point.offset, 1), "{");
}

TEST(Resync, LambdaNamesAreNoEvents) {
  EXPECT_EQ(FindNextEvent("{lambda(int)#1}, {lambda(int)#2}, x ", false).kind, Kind::kNone);
}

TEST(Resync, TheEndOfTheArrayIsFoundBeforeAKeyAndAtTheEndOfTheFile) {
  EXPECT_EQ(FindNextEvent("x}}\n], \"traceName\": ", false).kind, Kind::kArrayEnd);
  EXPECT_EQ(FindNextEvent("x}}\n]}\n", true).kind, Kind::kArrayEnd);
}

TEST(Resync, ABracketInsideTheArgumentsIsNoEndOfTheArray) {
  EXPECT_EQ(FindNextEvent("x}]}}} ; ", true).kind, Kind::kNone);
}

TEST(Resync, AMatchCutByTheEndOfTheBytesAsksForMoreFromItsStart) {
  const std::string text = "junk}}, { \"ph\" : 1";
  for (size_t cut = 6; cut < 16; ++cut) {
    const ResyncPoint point = FindNextEvent(text.substr(0, cut), false);
    EXPECT_EQ(point.kind, Kind::kMore) << cut;
    EXPECT_LE(point.offset, 5U);
  }
  EXPECT_EQ(FindNextEvent(text, false).kind, Kind::kEvent);
}

TEST(Resync, TheNextKeyIsFound) {
  const std::string text = "e\"junk\", x, \"baseTimeNanoseconds\": 5}";
  const ResyncPoint point = FindNextKey(text, true);
  ASSERT_EQ(point.kind, Kind::kKey);
  EXPECT_EQ(text.substr(point.offset, 5), "\"base");
}

}  // namespace
}  // namespace lockstep::kineto
