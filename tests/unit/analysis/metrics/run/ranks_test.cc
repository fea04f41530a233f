#include "analysis/metrics/run/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/support/run_builder.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kDay0 = int64_t{1'700'000'000} * kSecond;

// A source with activity in [from, to) seconds after a common base.
SourceBuilder& Active(SourceBuilder& source, int64_t from_s, int64_t to_s) {
  source.Window(kDay0 + from_s * kSecond, kDay0 + to_s * kSecond).KernelTime(1'000);
  source.context().kernels = 1;
  return source;
}

SourceBuilder& AddActive(RunBuilder& run, std::string path, int64_t from_s = 0, int64_t to_s = 10) {
  return Active(run.AddSource(std::move(path)), from_s, to_s);
}

RankResolution Resolve(const RunBuilder& run, const AnalysisOptions& options = {}) {
  return ResolveRanks(run.Build().run, options);
}

std::string PathOf(const RunBuilder& run, const RankResolution& ranks, size_t index) {
  return run.Build().run.sources[ranks.ranks[index].source].context.path;
}

int64_t Number(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

TEST(ResolveRanks, TheMostTrustedClaimWinsAndTheContradictionIsNoted) {
  RunBuilder run;
  AddActive(run, "rank3.json").Claim(3, RankSource::kFileName).Claim(1, RankSource::kMetadata);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(1));
  EXPECT_EQ(ranks.ranks[0].rank, 1);
  EXPECT_EQ(ranks.ranks[0].rank_source, RankSource::kMetadata);
  EXPECT_THAT(ranks.notes, testing::ElementsAre(HasSubstr("rank3.json")));
}

TEST(ResolveRanks, ARankMapOverrulesMetadata) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0, RankSource::kMetadata).Claim(5, RankSource::kRankMap);
  EXPECT_EQ(Resolve(run).ranks.at(0).rank, 5);
}

TEST(ResolveRanks, UnclaimedSourcesTakeFreeRanksInOrderOfHostPathPidAndDevice) {
  RunBuilder run;
  AddActive(run, "t10.json").Host("b");
  AddActive(run, "t2.json").Host("b");
  AddActive(run, "z.json").Host("a");
  AddActive(run, "claimed.json").Host("c").Claim(1);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(4));
  EXPECT_EQ(PathOf(run, ranks, 0), "z.json");
  EXPECT_EQ(PathOf(run, ranks, 1), "claimed.json");
  EXPECT_EQ(PathOf(run, ranks, 2), "t2.json");
  EXPECT_EQ(PathOf(run, ranks, 3), "t10.json");
  EXPECT_EQ(ranks.assumed, 3);
  EXPECT_EQ(ranks.ranks[0].rank_source, RankSource::kAssumed);
}

TEST(ResolveRanks, ProcessesOfOneReportAreNumberedByPidNotByOrderOfArrival) {
  RunBuilder run;
  AddActive(run, "two.sqlite").Nsys("s", 145).Device(1);
  AddActive(run, "two.sqlite").Nsys("s", 144).Device(0);
  const BuiltRun built = run.Build();
  const RankResolution ranks = ResolveRanks(built.run, {});
  ASSERT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_EQ(built.run.sources[ranks.ranks[0].source].context.pid, 144);
  EXPECT_EQ(ranks.ranks[0].domain, ranks.ranks[1].domain);
}

TEST(ResolveRanks, ADeviceWithAThirtiethOfTheProcessIsAStray) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0).Pid(7).Device(0).KernelTime(2'900);
  AddActive(run, "a.json").Claim(0).Pid(7).Device(1).KernelTime(100);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(1));
  ASSERT_THAT(ranks.refused, SizeIs(1));
  EXPECT_EQ(ranks.refused[0].reason, DropReason::kStrayDevice);
  EXPECT_THAT(ranks.refused[0].detail, HasSubstr("device 1"));
}

TEST(ResolveRanks, ADeviceWithATwentiethOfTheProcessIsARankOfItsOwn) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0).Pid(7).Device(0).KernelTime(1'900);
  AddActive(run, "a.json").Claim(0).Pid(7).Device(1).KernelTime(100);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_EQ(ranks.ranks[0].rank_source, RankSource::kMetadata);
  EXPECT_EQ(ranks.ranks[1].rank, 1);
  EXPECT_EQ(ranks.ranks[1].rank_source, RankSource::kAssumed);
}

TEST(ResolveRanks, OverlappingSourcesOfOneRankAreAllRefusedAndNamed) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0);
  AddActive(run, "b.json", 5, 15).Claim(0);
  AddActive(run, "c.json").Claim(1);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(1));
  EXPECT_EQ(ranks.ranks[0].rank, 1);
  ASSERT_THAT(ranks.refused, SizeIs(2));
  for (const RefusedSource& refused : ranks.refused) {
    EXPECT_EQ(refused.reason, DropReason::kDuplicateRank);
    EXPECT_THAT(refused.detail, HasSubstr("a.json, b.json"));
  }
}

TEST(ResolveRanks, OfSeveralCapturesTheLastThatMostRanksHaveIsAnalysedWithoutTheFlag) {
  RunBuilder run;
  AddActive(run, "a0.json").Claim(0);
  AddActive(run, "a1.json").Claim(1);
  AddActive(run, "b0.json", 100, 110).Claim(0);
  AddActive(run, "b1.json", 101, 110).Claim(1);
  AddActive(run, "c1.json", 200, 210).Claim(1);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_EQ(PathOf(run, ranks, 0), "b0.json");
  EXPECT_EQ(PathOf(run, ranks, 1), "b1.json");
  EXPECT_TRUE(ranks.refused.empty());
  ASSERT_TRUE(ranks.captures);
  EXPECT_EQ(ranks.captures->chosen, 1);
  EXPECT_FALSE(ranks.captures->asked);
  ASSERT_THAT(ranks.captures->all, SizeIs(3));
  EXPECT_EQ(ranks.captures->all[2].ranks, 1);
  EXPECT_EQ(ranks.captures->all[1].start_ns, kDay0 + 100 * kSecond);
}

TEST(ResolveRanks, WhereClocksAreApartTheKthCaptureOfEachRankIsTheKthOfTheRun) {
  RunBuilder run;
  AddActive(run, "a0.json").Claim(0).World(2);
  AddActive(run, "b0.json", 100, 110).Claim(0).World(2);
  AddActive(run, "a1.json", 7'200, 7'210).Claim(1).World(2);
  AddActive(run, "b1.json", 7'300, 7'310).Claim(1).World(2);
  AnalysisOptions first;
  first.capture = 0;
  const RankResolution ranks = Resolve(run, first);
  ASSERT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_EQ(PathOf(run, ranks, 0), "a0.json");
  EXPECT_EQ(PathOf(run, ranks, 1), "a1.json");
}

// Rows that cannot be equal by chance.
SourceBuilder& WithRows(SourceBuilder& source, int64_t kernels, int64_t kernel_time_ns) {
  source.KernelTime(kernel_time_ns);
  source.context().kernels = kernels;
  return source;
}

// The run, of whose files this one is cut.
BuiltRun BuildWithCut(RunBuilder& run, const std::string& path) {
  BuiltRun built = run.Build();
  built.run.files = {{path, "kineto", "partial", "cut", 9, {}}};
  return built;
}

TEST(ResolveRanks, ATraceGivenTwiceIsUsedOnceAndTheCopyIsNamed) {
  RunBuilder run;
  WithRows(AddActive(run, "rank0.json.gz").Claim(0), 500, 77'123);
  WithRows(AddActive(run, "rank0.json").Claim(0), 500, 77'123);
  WithRows(AddActive(run, "rank1.json").Claim(1), 500, 77'123);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_TRUE(ranks.refused.empty());
  ASSERT_THAT(ranks.left_out, SizeIs(1));
  EXPECT_THAT(ranks.left_out[0].reason, HasSubstr("same device records as rank0.json, which"));
}

TEST(ResolveRanks, ACopyWithOtherTimesIsACopyAllTheSame) {
  RunBuilder run;
  WithRows(AddActive(run, "a.json").Claim(0), 500, 77'123);
  WithRows(AddActive(run, "b.json", 3'600, 3'610).Claim(0), 500, 77'123);
  const RankResolution ranks = Resolve(run);
  EXPECT_THAT(ranks.ranks, SizeIs(1));
  EXPECT_THAT(ranks.left_out, SizeIs(1));
  EXPECT_FALSE(ranks.captures);
}

TEST(ResolveRanks, DifferentTracesOfOneRankAndTimeAreNotTakenForCopies) {
  RunBuilder run;
  WithRows(AddActive(run, "a.json").Claim(0), 500, 77'123);
  WithRows(AddActive(run, "b.json").Claim(0), 500, 79'000);
  AddActive(run, "c.json").Claim(1);
  const RankResolution ranks = Resolve(run);
  EXPECT_THAT(ranks.refused, SizeIs(2));
  EXPECT_TRUE(ranks.left_out.empty());
}

TEST(ResolveRanks, ACopyWithTimesInMicrosecondsIsACopyOfTheExactOne) {
  RunBuilder run;
  WithRows(AddActive(run, "a_rounded.json").Claim(0).Pid(7), 500, 79'000);
  WithRows(AddActive(run, "b.json").Claim(0).Pid(7), 500, 77'123);
  AddActive(run, "c.json").Claim(1);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_EQ(PathOf(run, ranks, 0), "b.json");
  EXPECT_TRUE(ranks.refused.empty());
}

TEST(ResolveRanks, ACutCopyOfATraceDoesNotTakeItAway) {
  RunBuilder run;
  WithRows(AddActive(run, "rank0.json").Claim(0), 500, 77'123);
  WithRows(AddActive(run, "rank0_copy.json", 0, 6).Claim(0), 300, 40'000);
  const BuiltRun built = BuildWithCut(run, "rank0_copy.json");
  const RankResolution ranks = ResolveRanks(built.run, {});
  ASSERT_THAT(ranks.ranks, SizeIs(1));
  EXPECT_EQ(built.run.sources[ranks.ranks[0].source].context.path, "rank0.json");
  EXPECT_TRUE(ranks.refused.empty());
  EXPECT_THAT(ranks.left_out, SizeIs(1));
}

TEST(ResolveRanks, OfAFileCutAfterItsLastDeviceRowAndItsWholeCopyTheCopyIsKept) {
  RunBuilder run;
  WithRows(AddActive(run, "rank0.json").Claim(0), 500, 77'123);
  WithRows(AddActive(run, "rank0_copy.json").Claim(0), 500, 77'123);
  const BuiltRun built = BuildWithCut(run, "rank0.json");
  const RankResolution ranks = ResolveRanks(built.run, {});
  ASSERT_THAT(ranks.ranks, SizeIs(1));
  EXPECT_EQ(built.run.sources[ranks.ranks[0].source].context.path, "rank0_copy.json");
  EXPECT_THAT(ranks.left_out, SizeIs(1));
}

TEST(ResolveRanks, AFileThatWasStoredWholeAndIsCutNowKeepsWhatWasStored) {
  RunBuilder run;
  WithRows(AddActive(run, "rank0.json").Claim(0), 500, 77'123);
  WithRows(AddActive(run, "rank0.json", 0, 6).Claim(0), 300, 40'000);
  const BuiltRun built = BuildWithCut(run, "rank0.json");
  const RankResolution ranks = ResolveRanks(built.run, {});
  ASSERT_THAT(ranks.ranks, SizeIs(1));
  EXPECT_EQ(built.run.sources[ranks.ranks[0].source].context.kernels, 500);
  EXPECT_TRUE(ranks.refused.empty());
}

TEST(ResolveRanks, ARankOfWhichNoTraceIsAnalysedIsMissing) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0);
  AddActive(run, "b.json", 5, 15).Claim(0);
  AddActive(run, "c.json").Claim(1);
  EXPECT_THAT(Resolve(run).missing_ranks, testing::ElementsAre(0));
}

// Containers have files and processes of the same names.
TEST(ResolveRanks, SourcesOfEqualPathsProcessesAndDevicesAreNoDevicesOfOneProcess) {
  RunBuilder run;
  for (int32_t r = 0; r < 2; ++r) WithRows(AddActive(run, "/traces/t.json").Pid(1).Device(0).Claim(r), 500, 70'000 + r);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_EQ(ranks.assumed, 0);
}

TEST(ResolveRanks, WhatCallsTheDeviceAsOftenAsTheRanksIsOneOfThem) {
  RunBuilder run;
  AddActive(run, "a.json").context().api_rows = 100;
  run.AddSource("b.json").context().api_rows = 95;
  run.AddSource("front_end.json").context().api_rows = 4;
  const RankResolution ranks = Resolve(run);
  EXPECT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_THAT(ranks.left_out, SizeIs(1));
}

// Ranks of one program run as many kernels, and take nearly as long.
TEST(ResolveRanks, RanksThatAreNearlyAlikeAreNoCopies) {
  RunBuilder run;
  for (int32_t r = 0; r < 64; ++r) {
    const std::string path = "node" + std::to_string(r / 8) + ".sqlite";
    WithRows(AddActive(run, path).Pid(100 + r).Device(r % 8), 10'000, 50'000'000 + r);
  }
  const RankResolution ranks = Resolve(run);
  EXPECT_THAT(ranks.ranks, SizeIs(64));
  EXPECT_TRUE(ranks.left_out.empty());
}

TEST(ResolveRanks, OfAMergedFileWhatFilesOfTheirOwnHoldIsLeftOut) {
  RunBuilder run;
  for (int32_t r = 0; r < 3; ++r) {
    SourceBuilder& source = WithRows(AddActive(run, "merged.json").Pid(100 + r).Claim(r), 500, 1'000 + r);
    source.context().processes_in_file = 3;
  }
  for (int32_t r = 0; r < 2; ++r) WithRows(AddActive(run, "rank" + std::to_string(r)).Claim(r), 500, 1'000 + r);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(3));
  EXPECT_EQ(PathOf(run, ranks, 0), "rank0");
  EXPECT_EQ(PathOf(run, ranks, 1), "rank1");
  EXPECT_EQ(PathOf(run, ranks, 2), "merged.json");
  EXPECT_THAT(ranks.left_out, SizeIs(2));
}

TEST(ResolveRanks, AFileWithoutDeviceRowsIsNoRankBesideThoseOfTheRanks) {
  RunBuilder run;
  AddActive(run, "rank0.json").Claim(0).World(2);
  AddActive(run, "rank1.json").Claim(1).World(2);
  run.AddSource("async_llm.json");
  const RankResolution ranks = Resolve(run);
  EXPECT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_THAT(ranks.left_out, SizeIs(1));
  EXPECT_EQ(ranks.assumed, 0);
}

TEST(ResolveRanks, ARankWithoutDeviceRowsThatIsToldStays) {
  RunBuilder run;
  AddActive(run, "rank0.json").Claim(0).World(2);
  run.AddSource("rank1.json").Claim(1).World(2);
  EXPECT_THAT(Resolve(run).ranks, SizeIs(2));
}

TEST(ResolveRanks, ReplicasThatNumberTheirRanksFromZeroAreSeveralRuns) {
  RunBuilder run;
  int64_t time = 1'000'000;
  for (const char* path : {"dp0_tp0.json", "dp0_tp1.json", "dp1_tp0.json", "dp1_tp1.json"}) {
    WithRows(AddActive(run, path).Claim(path[6] - '0').World(2), 500, time *= 2);
  }
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.groups, SizeIs(2));
  for (const auto& group : ranks.groups) {
    const auto replica = [&](size_t source) { return run.Build().run.sources[source].context.path.substr(0, 3); };
    ASSERT_THAT(group, SizeIs(2));
    EXPECT_EQ(replica(group[0]), replica(group[1]));
  }
  EXPECT_THAT(ranks.groups_reason, HasSubstr("every rank occurs in several"));
}

TEST(ResolveRanks, RanksOfOneWorldAreOneRunWhateverTheirClocksSay) {
  RunBuilder run;
  for (int32_t r = 0; r < 4; ++r) {
    const int64_t hour = r < 2 ? 0 : 7'200;
    AddActive(run, std::to_string(r) + ".json", hour, hour + 10).Claim(r).World(4);
  }
  EXPECT_TRUE(Resolve(run).groups.empty());
  EXPECT_THAT(Resolve(run).ranks, SizeIs(4));
  EXPECT_EQ(Resolve(run).clocks_apart_ns, (7'200 - 10) * kSecond);
}

TEST(ResolveRanks, ACutFileMayHoldFewerCollectivesThanTheOtherRanksOfItsWorld) {
  RunBuilder run;
  for (int32_t r = 0; r < 4; ++r) {
    const int64_t hour = r < 2 ? 0 : 7'200;
    SourceContext& rank = AddActive(run, std::to_string(r) + ".json", hour, hour + 10).Claim(r).World(4).context();
    rank.collectives = r == 3 ? 30 : 100;
  }
  BuiltRun built = run.Build();
  EXPECT_THAT(ResolveRanks(built.run, {}).groups, SizeIs(2));
  built.run.files = {{"3.json", "kineto", "partial", "cut", 9, {}}};
  EXPECT_THAT(ResolveRanks(built.run, {}).groups, testing::IsEmpty());
}

TEST(ResolveRanks, ThePersonCanSayThatFilesWithoutCommonTimeAreOneRun) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0);
  AddActive(run, "b.json", 1'000, 1'010).Claim(1);
  AnalysisOptions options;
  options.one_run = true;
  EXPECT_TRUE(Resolve(run, options).groups.empty());
  AnalysisOptions counted;
  counted.expected_ranks = 2;
  EXPECT_TRUE(Resolve(run, counted).groups.empty());
}

// Of one process with eight devices one waits for nobody: it has little kernel time.
TEST(ResolveRanks, ADeviceThatTakesPartInTheCollectivesIsARankHoweverLittleItsKernelsTake) {
  RunBuilder run;
  for (int32_t d = 0; d < 8; ++d) {
    SourceBuilder& source = WithRows(AddActive(run, "all.json").Pid(1).Device(d), 100, d == 5 ? 1'000 : 100'000);
    source.context().collectives = 90;
  }
  SourceBuilder& stray = WithRows(AddActive(run, "all.json").Pid(1).Device(8), 3, 50'000);
  stray.context().collectives = 0;
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(8));
  ASSERT_THAT(ranks.refused, SizeIs(1));
  EXPECT_EQ(ranks.refused[0].reason, DropReason::kStrayDevice);
  for (size_t r = 0; r < 8; ++r) {
    EXPECT_EQ(run.Build().run.sources[ranks.ranks[r].source].context.device, static_cast<int32_t>(r));
  }
  AnalysisOptions nine;
  nine.expected_ranks = 9;
  EXPECT_THAT(Resolve(run, nine).ranks, SizeIs(9));
}

TEST(ResolveRanks, TheCaptureFlagSelectsByTimeNotByName) {
  RunBuilder run;
  AddActive(run, "a.json", 100, 110).Claim(0);
  AddActive(run, "b.json").Claim(0);
  AnalysisOptions first;
  first.capture = 0;
  AnalysisOptions last;
  last.capture_last = true;
  EXPECT_EQ(PathOf(run, Resolve(run, first), 0), "b.json");
  const RankResolution ranks = Resolve(run, last);
  EXPECT_EQ(PathOf(run, ranks, 0), "a.json");
  EXPECT_EQ(ranks.ranks[0].capture, 1);
  EXPECT_TRUE(ranks.refused.empty());
}

TEST(ResolveRanks, ACaptureThatDoesNotExistRefusesTheRank) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0);
  AnalysisOptions options;
  options.capture = 3;
  const RankResolution ranks = Resolve(run, options);
  EXPECT_TRUE(ranks.ranks.empty());
  EXPECT_THAT(ranks.refused.at(0).detail, HasSubstr("no capture 3"));
}

TEST(ResolveRanks, ContradictingWorldSizesAreSeveralRuns) {
  RunBuilder run;
  AddActive(run, "x/a.json").Claim(0).World(2);
  AddActive(run, "x/b.json").Claim(1).World(2);
  AddActive(run, "y/a.json").Claim(0).World(4);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.groups, SizeIs(2));
  EXPECT_THAT(ranks.groups[0], SizeIs(2));
  EXPECT_THAT(ranks.groups_reason, HasSubstr("world size (2, 4)"));
  EXPECT_TRUE(ranks.ranks.empty());
}

TEST(ResolveRanks, WhatThePersonSaysWinsOverTracesThatSayThatTheyAreAlone) {
  RunBuilder mapped;
  RunBuilder counted;
  for (int32_t rank = 0; rank < 3; ++rank) {
    const std::string path = "worker" + std::string(1, static_cast<char>('a' + rank)) + ".json";
    AddActive(mapped, path).Claim(0, RankSource::kMetadata).Claim(2 - rank, RankSource::kRankMap).World(1);
    AddActive(counted, path).Claim(0, RankSource::kMetadata).World(1);
  }
  const RankResolution by_map = Resolve(mapped);
  ASSERT_THAT(by_map.ranks, SizeIs(3));
  EXPECT_EQ(PathOf(mapped, by_map, 0), "workerc.json");
  AnalysisOptions options;
  EXPECT_THAT(Resolve(counted).groups, SizeIs(3));
  options.expected_ranks = 3;
  const RankResolution by_count = Resolve(counted, options);
  ASSERT_THAT(by_count.ranks, SizeIs(3));
  EXPECT_EQ(by_count.assumed, 3);
  EXPECT_THAT(by_count.missing_ranks, testing::IsEmpty());
}

TEST(ResolveRanks, ARankBeyondTheWorldOfAnotherFileIsAnotherRun) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0).World(2);
  AddActive(run, "b.json").Claim(9);
  const RankResolution ranks = Resolve(run);
  EXPECT_THAT(ranks.groups, SizeIs(2));
  EXPECT_THAT(ranks.groups_reason, HasSubstr("b.json"));
}

TEST(ResolveRanks, RanksWithoutCommonTimeAreSeveralRuns) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0);
  AddActive(run, "b.json", 1'000, 1'010).Claim(1);
  const RankResolution ranks = Resolve(run);
  EXPECT_THAT(ranks.groups, SizeIs(2));
  EXPECT_THAT(ranks.groups_reason, HasSubstr("no common time"));
}

TEST(ResolveRanks, WindowsHalfASecondApartAreOneRunBecauseClocksAreOnlyClaims) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0);
  AddActive(run, "b.json").Window(kDay0 + 10 * kSecond + kSecond / 2, kDay0 + 12 * kSecond).Claim(1);
  EXPECT_TRUE(Resolve(run).groups.empty());
}

TEST(ResolveRanks, GroupsNeverHoldARankTwice) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0).World(2);
  AddActive(run, "b.json").Claim(0).World(2);
  AddActive(run, "c.json").Claim(1).World(2);
  AddActive(run, "d.json").Claim(0).World(1);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.groups, SizeIs(3));
  EXPECT_THAT(ranks.groups[0], SizeIs(2));
}

TEST(ResolveRanks, MissingRanksFollowFromTheWorldSize) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0).World(4);
  AddActive(run, "b.json").Claim(2).World(4);
  const RankResolution ranks = Resolve(run);
  EXPECT_EQ(ranks.world_size, 4);
  EXPECT_THAT(ranks.missing_ranks, testing::ElementsAre(1, 3));
}

TEST(ResolveRanks, RanksBelowTheHighestAreMissingWhereNobodyTellsTheWorld) {
  RunBuilder run;
  AddActive(run, "rank1.sqlite").Claim(1, RankSource::kFileName);
  AddActive(run, "rank3.sqlite").Claim(3, RankSource::kFileName);
  const RankResolution ranks = Resolve(run);
  EXPECT_THAT(ranks.missing_ranks, testing::ElementsAre(0, 2));
  EXPECT_EQ(LeastWorldSize(ranks), 4);
  AnalysisOptions options;
  options.expected_ranks = 2;
  EXPECT_THAT(Resolve(run, options).missing_ranks, testing::ElementsAre(0));
}

TEST(ResolveRanks, RanksThatNobodyNumberedLackNone) {
  RunBuilder run;
  AddActive(run, "a.sqlite");
  AddActive(run, "b.sqlite");
  EXPECT_THAT(Resolve(run).missing_ranks, testing::IsEmpty());
}

TEST(ResolveRanks, WhatNobodyNumberedIsOfTheCaptureThatItOverlaps) {
  RunBuilder run;
  AddActive(run, "rank0.json", 0, 10).Claim(0);
  AddActive(run, "cedar.json", 0, 10);
  AddActive(run, "rank0_again.json", 3'600, 3'610).Claim(0);
  AddActive(run, "cedar_again.json", 3'600, 3'610);
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(2));
  EXPECT_EQ(PathOf(run, ranks, 0), "rank0_again.json");
  EXPECT_EQ(PathOf(run, ranks, 1), "cedar_again.json");
  EXPECT_TRUE(ranks.groups.empty());
}

TEST(ResolveRanks, ANumberInTheNameMakesNoRankOfWhatNeverCallsADevice) {
  RunBuilder run;
  AddActive(run, "rank0.json").Claim(0, RankSource::kFileName);
  run.AddSource("dataloader_worker1.json").Claim(1, RankSource::kFileName);
  const RankResolution ranks = Resolve(run);
  EXPECT_THAT(ranks.ranks, SizeIs(1));
  EXPECT_THAT(ranks.left_out, SizeIs(1));
}

TEST(ResolveRanks, ACutCopyThatTellsNoRankIsNoRankMore) {
  RunBuilder run;
  SourceContext& whole = WithRows(AddActive(run, "amber.json"), 500, 77'123).context();
  SourceContext& cut = WithRows(AddActive(run, "aaa_part.json", 0, 6), 300, 40'000).context();
  cut.pid = whole.pid;
  cut.device = whole.device;
  cut.host = whole.host;
  const BuiltRun built = BuildWithCut(run, "aaa_part.json");
  const RankResolution ranks = ResolveRanks(built.run, {});
  ASSERT_THAT(ranks.ranks, SizeIs(1));
  EXPECT_EQ(built.run.sources[ranks.ranks[0].source].context.path, "amber.json");
  EXPECT_THAT(ranks.left_out, SizeIs(1));
}

// A tool has removed the rows of communication from one of two files of a process.
TEST(ResolveRanks, ACopyWithoutSomeOfTheRowsOfItsProcessIsNoRankMore) {
  for (const bool same_process : {true, false}) {
    RunBuilder run;
    SourceContext& whole = WithRows(AddActive(run, "copy.json"), 500, 77'123).context();
    SourceContext& part = WithRows(AddActive(run, "rank2.json"), 300, 40'000).Claim(2, RankSource::kFileName).context();
    whole.pid = 77;
    part.pid = same_process ? 77 : 78;
    part.device = whole.device;
    part.host = whole.host;
    const BuiltRun built = run.Build();
    const RankResolution ranks = ResolveRanks(built.run, {});
    ASSERT_THAT(ranks.ranks, SizeIs(same_process ? 1 : 2));
    EXPECT_EQ(built.run.sources[ranks.ranks[0].source].context.path, "copy.json");
  }
}

TEST(ResolveRanks, ANumberInTheNamesOfAllFilesIsNoRank) {
  RunBuilder run;
  for (int32_t gpu = 0; gpu < 4; ++gpu) {
    SourceBuilder& source = AddActive(run, "lora_rank16_gpu" + std::to_string(gpu) + ".sqlite");
    source.Claim(16, RankSource::kFileName).context().device = gpu;
    source.context().pid = 100 + gpu;
  }
  const RankResolution ranks = Resolve(run);
  ASSERT_THAT(ranks.ranks, SizeIs(4));
  EXPECT_TRUE(ranks.groups.empty());
  EXPECT_EQ(ranks.assumed, 4);
  EXPECT_THAT(ranks.missing_ranks, testing::IsEmpty());
}

TEST(ResolveRanks, AnAbsurdWorldSizeIsIgnored) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0).World(2'000'000'000);
  const RankResolution ranks = Resolve(run);
  EXPECT_FALSE(ranks.world_size.has_value());
  EXPECT_TRUE(ranks.missing_ranks.empty());
}

TEST(ResolveRanks, NsysSessionsOfOneHostAreDomainsOfTheirOwn) {
  RunBuilder run;
  AddActive(run, "a.sqlite").Nsys("s1", 1).Host("h").Claim(0);
  AddActive(run, "b.sqlite").Nsys("s2", 2).Host("h").Claim(1);
  const RankResolution ranks = Resolve(run);
  EXPECT_NE(ranks.ranks[0].domain, ranks.ranks[1].domain);
}

TEST(ResolveRanks, KinetoFilesOfUnknownHostsWithEqualDevicesAreNoDomain) {
  RunBuilder run;
  AddActive(run, "a.json").Claim(0).Device(0);
  AddActive(run, "b.json").Claim(1).Device(0);
  const RankResolution ranks = Resolve(run);
  EXPECT_NE(ranks.ranks[0].domain, ranks.ranks[1].domain);
}

TEST(ResolveRanks, TheResultDoesNotDependOnTheOrderOfSources) {
  const std::vector<std::string> paths = {"r1.json", "r10.json", "r2.json", "r0.json"};
  std::set<std::vector<std::string>> seen;
  std::vector<size_t> order = {0, 1, 2, 3};
  do {
    RunBuilder run;
    for (const size_t i : order) AddActive(run, paths[i]).Pid(1);
    const RankResolution ranks = Resolve(run);
    std::vector<std::string> by_rank;
    for (size_t i = 0; i < ranks.ranks.size(); ++i) by_rank.push_back(PathOf(run, ranks, i));
    seen.insert(by_rank);
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_THAT(seen, testing::ElementsAre(std::vector<std::string>{"r0.json", "r1.json", "r2.json", "r10.json"}));
}

// All Kineto files of the reference collection at once, with the claims and windows another reader found in them.
TEST(ResolveRanks, TheWholeCollectionFallsIntoGroupsThatCanBeRuns) {
  std::ifstream in("../shared/reference/expected.json");
  if (!in) GTEST_SKIP() << "REFERENCE MISSING: ../shared/reference/expected.json";
  const nlohmann::json expected = nlohmann::json::parse(in);
  RunBuilder run;
  for (const auto& [path, file] : expected["files"].items()) {
    if (file.value("format", "") != "kineto" || file["first_device_start_unix_ns"].is_null()) continue;
    const std::string device = file["device_ids"].at(0);
    SourceBuilder& source = run.AddSource(path).Device(device.front() - '0').KernelTime(1);
    source.Window(Number(file["first_device_start_unix_ns"]), Number(file["last_device_end_unix_ns"]));
    source.context().kernels = file["kernels"].get<int64_t>();
    if (!file["rank"].is_null()) source.Claim(file["rank"].get<int32_t>());
    if (!file["world_size"].is_null()) source.World(file["world_size"].get<int32_t>());
  }
  const BuiltRun built = run.Build();
  const RankResolution ranks = ResolveRanks(built.run, {});
  size_t in_groups = 0;
  std::vector<size_t> sizes;
  for (const auto& group : ranks.groups) {
    std::set<std::string> folders;
    for (const size_t s : group) {
      const std::string& path = built.run.sources[s].context.path;
      folders.insert(path.substr(0, path.rfind('/')));
    }
    EXPECT_THAT(folders, SizeIs(1));
    sizes.push_back(group.size());
    in_groups += group.size();
  }
  EXPECT_EQ(in_groups, built.run.sources.size());
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 8U), 1);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 2U), 1);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 1U), static_cast<std::ptrdiff_t>(sizes.size()) - 2);
}

// Ranks with so many collectives and kernels each.
RankResolution WithCollectives(const std::vector<std::pair<int64_t, int64_t>>& collectives_and_kernels) {
  RunBuilder run;
  for (size_t rank = 0; rank < collectives_and_kernels.size(); ++rank) {
    SourceBuilder& source = AddActive(run, "rank" + std::to_string(rank) + ".json");
    source.Claim(static_cast<int32_t>(rank), RankSource::kFileName);
    source.context().collectives = collectives_and_kernels[rank].first;
    source.context().kernels = collectives_and_kernels[rank].second;
  }
  return Resolve(run);
}

TEST(ResolveRanks, WhoRanKernelsAndHasNoCollectiveWhereOthersHaveManyIsSilent) {
  EXPECT_THAT(WithCollectives({{300, 900}, {300, 900}, {0, 600}, {300, 900}}).silent_ranks, testing::ElementsAre(2));
  EXPECT_THAT(WithCollectives({{300, 900}, {1, 900}}).silent_ranks, testing::IsEmpty());
  EXPECT_THAT(WithCollectives({{300, 900}, {0, 2}}).silent_ranks, testing::IsEmpty());  // it did not work with it
  EXPECT_THAT(WithCollectives({{5, 900}, {0, 900}}).silent_ranks, testing::IsEmpty());
  EXPECT_THAT(WithCollectives({{0, 900}, {0, 900}}).silent_ranks, testing::IsEmpty());
}

TEST(ResolveRanks, WhoseGraphsAreTracedAsAWholeIsSilentHoweverFewKernelsAreOutside) {
  RunBuilder run;
  for (int32_t rank = 0; rank < 3; ++rank) {
    SourceContext& context = AddActive(run, "rank" + std::to_string(rank) + ".sqlite").Claim(rank).context();
    context.collectives = rank == 1 ? 0 : 300;
    context.kernels = rank == 1 ? 2 : 900;
    context.graph_spans = rank == 1 ? 30 : 0;
  }
  EXPECT_THAT(Resolve(run).silent_ranks, testing::ElementsAre(1));
}

}  // namespace
}  // namespace lockstep
