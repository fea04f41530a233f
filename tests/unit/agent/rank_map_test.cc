#include "agent/rank_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::HasSubstr;

TEST(RankMap, ReadsAllFields) {
  const auto rows = ParseRankMap("path,pid,device,rank,host\na.json,12,0,3,node1\n", "m");
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->at(0).path, "a.json");
  EXPECT_EQ(rows->at(0).pid, 12);
  EXPECT_EQ(rows->at(0).device, 0);
  EXPECT_EQ(rows->at(0).rank, 3);
  EXPECT_EQ(rows->at(0).host, "node1");
}

TEST(RankMap, PidDeviceAndHostMayBeEmpty) {
  const auto rows = ParseRankMap("path,pid,device,rank,host\na.json,,,3,", "m");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->at(0).pid, std::nullopt);
  EXPECT_EQ(rows->at(0).device, std::nullopt);
  EXPECT_EQ(rows->at(0).host, "");
}

TEST(RankMap, TakesWhatSpreadsheetsWrite) {
  const auto rows = ParseRankMap("\xef\xbb\xbfpath,pid,device,rank,host\r\n\"a,\"\"b\"\".json\",,,0,\r\n\r\n", "m");
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->at(0).path, "a,\"b\".json");
}

TEST(RankMap, NamesTheLineThatIsWrong) {
  for (const char* line :
       {"a.json,,,x,", "a.json,,,-1,", "a.json,1", ",,,1,", "a,x,,1,", "a,,1.5,1,", "a,,,1,h,more", "\"a,,,1,h"}) {
    const auto rows = ParseRankMap(std::string("path,pid,device,rank,host\nok,,,0,\n") + line, "map.csv");
    ASSERT_FALSE(rows.ok()) << line;
    EXPECT_THAT(std::string(rows.status().message()), HasSubstr("map.csv, line 3")) << line;
  }
}

TEST(RankMap, NeedsItsHeader) {
  const auto rows = ParseRankMap("a.json,,,0,\n", "map.csv");
  EXPECT_THAT(std::string(rows.status().message()), HasSubstr("map.csv, line 1"));
}

TEST(RankMap, AMissingFileIsNotFound) { EXPECT_TRUE(absl::IsNotFound(ReadRankMap("/nowhere/map.csv").status())); }

}  // namespace
}  // namespace lockstep
