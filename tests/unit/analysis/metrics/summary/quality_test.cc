#include "analysis/metrics/summary/quality.h"

#include <gtest/gtest.h>

#include "analysis/metrics/match/match_counts.h"
#include "tests/unit/analysis/metrics/fleet_fixture.h"
#include "tests/unit/analysis/metrics/summary/good_rank.h"

namespace lockstep {
namespace {

Gate GateNamed(FleetFixture& fixture, std::string_view name) {
  const FleetMeasures measures = fixture.Measure();
  for (const Gate& gate : ComputeQuality(fixture.Make(), measures).gates) {
    if (gate.name == name) return gate;
  }
  ADD_FAILURE() << "no gate " << name;
  return {};
}

TEST(Quality, HasAllGatesOfTheInterfaceInOrder) {
  const std::vector<std::string_view> expected = {
      "kernels_present",   "graphs_visible",    "files_whole",         "dropped_records",
      "rank_identity",     "duplicate_rank",    "host_identity",       "complete_ranks",
      "common_window",     "matching",          "waiting_told",        "clock",
      "steps_found",       "decode_pure",       "capture_long_enough", "node_trace_overhead",
      "profiler_overhead", "classifier_version"};
  EXPECT_EQ(GateNames(), expected);
}

TEST(Quality, FailsNoGateOfAGoodRun) {
  RunBuilder run;
  AddGoodRank(run, 0);
  AddGoodRank(run, 1);
  FleetFixture fixture(run);
  fixture.ranks.world_size = 2;
  const FleetMeasures measures = fixture.Measure();
  for (const Gate& gate : ComputeQuality(fixture.Make(), measures).gates) {
    EXPECT_TRUE(gate.ok.value_or(true)) << gate.name << ": " << gate.detail;
    EXPECT_FALSE(gate.detail.empty()) << gate.name;
  }
}

TEST(Quality, EveryFailedGateNamesItsPageInTheDocs) {
  RunBuilder run;
  run.AddSource("a.json");
  FleetFixture fixture(run);
  const Gate gate = GateNamed(fixture, "rank_identity");
  EXPECT_EQ(gate.ok, false);
  EXPECT_NE(gate.fix.find("docs/capture.md#rank-identity"), std::string::npos);
}

TEST(Quality, NamesTheRanksWithoutKernels) {
  RunBuilder run;
  AddGoodRank(run, 0);
  run.AddRank(5);
  FleetFixture fixture(run);
  const Gate gate = GateNamed(fixture, "kernels_present");
  EXPECT_EQ(gate.ok, false);
  EXPECT_NE(gate.detail.find('5'), std::string::npos);
}

TEST(Quality, ToleratesOneLostRecordInAThousand) {
  RunBuilder run;
  auto& rank = AddGoodRank(run, 0);
  rank.context().api_rows = 998;
  rank.data().summary.drops.Add(DropReason::kZeroTime, 1);
  FleetFixture fixture(run);
  EXPECT_EQ(GateNamed(fixture, "dropped_records").ok, true);
  fixture.built().run.sources[0].summary.drops.Add(DropReason::kZeroTime, 1);
  EXPECT_EQ(GateNamed(fixture, "dropped_records").ok, false);
}

TEST(Quality, NeedsEveryMemberOfEveryCommunicator) {
  RunBuilder run;
  AddGoodRank(run, 0);
  AddGoodRank(run, 1);
  FleetFixture fixture(run);
  fixture.match.communicators.push_back({"abc", "", "", {0, 1, 6}, 3, false});
  const Gate gate = GateNamed(fixture, "complete_ranks");
  EXPECT_EQ(gate.ok, false);
  EXPECT_NE(gate.detail.find('6'), std::string::npos);
}

TEST(Quality, WantsMostCommunicationTimeMatched) {
  RunBuilder run;
  for (const int32_t rank : {0, 1}) {
    auto& source = AddGoodRank(run, rank);
    source.Collective(source.Group("0", {0, 1}), CollectiveOp::kAllReduce, 0, 100);
  }
  FleetFixture fixture(run);
  EXPECT_EQ(GateNamed(fixture, "matching").ok, false);
  MatchedInstance instance;
  instance.confidence = 1;
  instance.members = {{0, 0, 0, 100, 0, 0, 0}, {1, 0, 0, 100, 0, 0, 0}};
  fixture.match.instances = {instance};
  EXPECT_EQ(GateNamed(fixture, "matching").ok, true);
}

TEST(Quality, ARankThatLacksMuchOfWhatTheOthersHaveIsTold) {
  RunBuilder run;
  for (const int32_t rank : {0, 1, 2}) AddGoodRank(run, rank);
  FleetFixture fixture(run);
  fixture.match.communicators.push_back({"abc", "", "", {0, 1, 2}, 3, false});
  MatchedInstance whole;
  whole.confidence = 1;
  whole.complete = true;
  whole.members = {{0, 0, 0, 100, 0, 0, 0}, {1, 0, 0, 100, 0, 0, 0}, {2, 0, 0, 100, 0, 0, 0}};
  MatchedInstance lacking = whole;
  lacking.complete = false;
  lacking.members.pop_back();
  fixture.match.instances = {whole, lacking, whole};
  MatchCounts counts(fixture.ranks);
  counts.Add(Chapter{fixture.match});
  counts.Finish(fixture.match);
  const Gate gate = GateNamed(fixture, "dropped_records");
  EXPECT_EQ(gate.ok, false);
  EXPECT_NE(gate.detail.find("rank 2 has no record of 1 of 3 collectives"), std::string::npos) << gate.detail;
}

FleetFixture TwoClocks(RunBuilder& run, bool certified) {
  AddGoodRank(run, 0);
  AddGoodRank(run, 1);
  FleetFixture fixture(run);
  SetTwoClocks(fixture, certified);
  return fixture;
}

TEST(Quality, AClockThatContradictsTheOthersIsTold) {
  RunBuilder good;
  FleetFixture agreeing = TwoClocks(good, true);
  EXPECT_EQ(GateNamed(agreeing, "clock").ok, true);
  RunBuilder bad;
  FleetFixture contradicting = TwoClocks(bad, false);
  const Gate gate = GateNamed(contradicting, "clock");
  EXPECT_EQ(gate.ok, false);
  EXPECT_NE(gate.detail.find("the timestamps of rank 1 are inconsistent"), std::string::npos) << gate.detail;
}

TEST(Quality, CountsUnmatchedAndAmbiguousInstancesAtTheirRanks) {
  RunBuilder run;
  AddGoodRank(run, 0);
  AddGoodRank(run, 1);
  FleetFixture fixture(run);
  fixture.match.rank_drops.resize(2);
  fixture.match.rank_drops[1].Add(DropReason::kUnmatchedInstance, 2);
  fixture.match.rank_drops[1].Add(DropReason::kAmbiguousInstance, 1);
  const FleetMeasures measures = fixture.Measure();
  const Quality quality = ComputeQuality(fixture.Make(), measures);
  EXPECT_EQ(quality.ranks[0].counters, DropCounters());
  EXPECT_EQ(quality.ranks[1].counters.Of(DropReason::kUnmatchedInstance), 2);
  EXPECT_EQ(quality.ranks[1].counters.Of(DropReason::kAmbiguousInstance), 1);
}

TEST(Quality, SaysWhyAFileWasRefused) {
  RunBuilder run;
  AddGoodRank(run, 0);
  run.AddSource("twin.json");
  FleetFixture fixture(run);
  size_t twin = 0;
  while (fixture.built().run.sources[twin].context.path != "twin.json") ++twin;
  std::erase_if(fixture.ranks.ranks, [&](const ResolvedRank& rank) { return rank.source == twin; });
  fixture.ranks.refused.push_back({twin, 0, DropReason::kDuplicateRank, "rank 0 is also claimed by rank0.json"});
  fixture.built().run.files = {{"twin.json", "kineto", "used", "", -1, {}}};
  const FleetMeasures measures = fixture.Measure();
  const Quality quality = ComputeQuality(fixture.Make(), measures);
  EXPECT_EQ(quality.files.at(0).status, "refused");
  EXPECT_EQ(quality.files.at(0).reason, "rank 0 is also claimed by rank0.json");
}

}  // namespace
}  // namespace lockstep
