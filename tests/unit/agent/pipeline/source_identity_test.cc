#include "agent/pipeline/source_identity.h"

#include <gtest/gtest.h>

#include <fstream>

namespace lockstep {
namespace {

TEST(RankInFileName, KnowsThePatternsOfTheProducers) {
  EXPECT_EQ(RankInFileName("a/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"), 34);
  EXPECT_EQ(RankInFileName("worker0_step_12.1694128201545.pt.trace.json"), 0);
  EXPECT_EQ(RankInFileName("iteration_10/rank7_trace.json"), 7);
  EXPECT_EQ(RankInFileName("rank3.12.pt.trace.json"), 3);
  EXPECT_EQ(RankInFileName("x-rank-5.123456.pt.trace.json.gz"), 5);
  EXPECT_EQ(RankInFileName("sampled_rank-1.json.gz"), 1);
  EXPECT_EQ(RankInFileName("trace_rank[12].json"), 12);
  EXPECT_EQ(RankInFileName("1694-TP-3.trace.json.gz"), 3);
}

TEST(RankInFileName, RanksBeforeWorkers) { EXPECT_EQ(RankInFileName("worker9_rank2.json"), 2); }
TEST(RankInFileName, TensorParallelSizesAreNoRanks) {
  EXPECT_EQ(RankInFileName("b200_tp8_rank0of8_vllm_eager.json.gz"), 0);
}
TEST(RankInFileName, CompositeRanksAreNotGuessed) {
  EXPECT_EQ(RankInFileName("1-TP-3-DP-1.trace.json.gz"), std::nullopt);
}
TEST(RankInFileName, WordsThatEndInRankDoNotCount) { EXPECT_EQ(RankInFileName("frank2.json"), std::nullopt); }
TEST(RankInFileName, FoldersDoNotCount) { EXPECT_EQ(RankInFileName("rank3/trace.json"), std::nullopt); }

TEST(HostInFileName, OnlyWithTheTracesOwnPid) {
  EXPECT_EQ(HostInFileName("d/node07_4711.1694128201545.pt.trace.json", 4711), "node07");
  EXPECT_EQ(HostInFileName("worker0_step_12.1694128201545.pt.trace.json", 59811), std::nullopt);
  EXPECT_EQ(HostInFileName("node07_4711.1694128201545.pt.trace.json", -1), std::nullopt);
}

TEST(RankMap, MatchesFromAFolderBoundaryAndByPidAndDevice) {
  const std::vector<RankMapRow> map = {{"a/t.sqlite", 10, 0, 4, "n0"}, {"t.sqlite", std::nullopt, 1, 5, ""}};
  EXPECT_EQ(FindInRankMap(map, "/x/a/t.sqlite", 10, 0)->rank, 4);
  EXPECT_EQ(FindInRankMap(map, "/x/a/t.sqlite", 11, 1)->rank, 5);
  EXPECT_EQ(FindInRankMap(map, "/x/a/t.sqlite", 11, 0), nullptr);
  EXPECT_EQ(FindInRankMap(map, "/x/bt.sqlite", 11, 1), nullptr);
}

TEST(Fingerprint, DependsOnContentNotOnName) {
  const std::string a = testing::TempDir() + "fingerprint_a";
  const std::string b = testing::TempDir() + "fingerprint_b";
  std::ofstream(a) << std::string(200'000, 'x');
  std::ofstream(b) << std::string(200'000, 'x');
  EXPECT_EQ(*FingerprintOf(a), *FingerprintOf(b));
  std::ofstream(b) << std::string(199'999, 'x') << 'y';
  EXPECT_NE(*FingerprintOf(a), *FingerprintOf(b));
}

}  // namespace
}  // namespace lockstep
