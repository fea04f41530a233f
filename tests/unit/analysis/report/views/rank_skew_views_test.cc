// The ranks, collectives and skew views of a small matched run.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "analysis/metrics/match/match_counts.h"
#include "analysis/model/instance_row.h"
#include "analysis/report/json.h"
#include "analysis/report/views/views.h"
#include "tests/support/time_units.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

constexpr int64_t kRunStartNs = 1'700'000'000'000'000'000;

// Two hosts of two ranks; a group in each and one across; rank 1 is late by 90 us.
void Tell(RunBuilder& builder) {
  for (int32_t r = 0; r < 4; ++r) {
    auto& source = builder.AddRank(r).World(4).Host(r < 2 ? "alpha" : "beta");
    source.context().gpu.uuid = "GPU-" + std::to_string(r);
    source.context().versions["cuda"] = "12.4";
    const uint32_t tp = source.Group("tp", r < 2 ? std::vector<int32_t>{0, 1} : std::vector<int32_t>{2, 3}, "mesh_tp");
    const uint32_t world = source.Group("0", {0, 1, 2, 3}, "default_pg");
    for (int64_t i = 0; i < 10; ++i) {
      source.Step(i, kRunStartNs + i * 2'000 * kUs, kRunStartNs + (i + 1) * 2'000 * kUs);
      const int64_t base = kRunStartNs + i * 2'000 * kUs + i * i % 7 * 30 * kUs;
      const int64_t late = r == 1 ? 90 * kUs : 0;
      InstanceRow& small = source.Collective(tp, CollectiveOp::kAllReduce, base + late, 100 * kUs - late);
      small.step = i;
      small.seq = i + 1;
      small.bytes = 4'096;
      source.Collective(world, CollectiveOp::kAllGather, base + 500 * kUs, 50 * kUs).step = i;
    }
  }
}

class RankSkewViews : public testing::Test {
 protected:
  void SetUp() override {
    RunBuilder builder;
    Tell(builder);
    run_ = Match(builder);
  }

  AnalysisContext Context() {
    std::vector<bool> selected(run_.ranks.ranks.size(), true);
    for (size_t i = 0; i < selected.size() && !options_.ranks.empty(); ++i) {
      selected[i] = std::count(options_.ranks.begin(), options_.ranks.end(), run_.ranks.ranks[i].rank) > 0;
    }
    const Fleet fleet = MakeFleet(run_.built.run, run_.ranks, run_.match, options_);
    return {run_.built.run,
            run_.built.instances,
            options_,
            run_.ranks,
            run_.match,
            executor_,
            kRunStartNs,
            selected,
            notices_,
            {},
            *RangeRows(fleet, run_.built.instances)};
  }

  // As if the clocks of the hosts could not be aligned.
  void Disconnect() {
    for (MatchedInstance& instance : run_.match.instances) {
      if (instance.members.size() < 4) continue;
      instance.comparable = instance.resolvable = instance.last_certain = false;
      instance.uncertainty_ns = -1;
    }
  }

  MatchedRun run_;
  AnalysisOptions options_;
  InlineExecutor executor_;
  std::vector<Notice> notices_;
};

Json CollectivesOf(const AnalysisContext& context, const MatchResult& match) {
  return report::ToJson(CollectivesView(
      context, ComputeCollectives(match, [&](const MatchedInstance& instance) { return Selects(context, instance); })));
}

Json SkewOf(const AnalysisContext& context, const MatchResult& match) {
  ListedInstances listed(context.options.instances.value_or(0));
  for (const MatchedInstance& instance : match.instances) {
    if (Selects(context, instance)) listed.Add(instance);
  }
  return report::ToJson(
      SkewView(context,
               ComputeSkew(match, context.ranks.ranks.size(),
                           [&](const MatchedInstance& instance) { return Selects(context, instance); }),
               context.options.instances ? &listed : nullptr));
}

TEST_F(RankSkewViews, CollectivesTellWhoLacksWhatAndWhereItsSequenceBroke) {
  size_t whole = 0;
  for (MatchedInstance& instance : run_.match.instances) {
    if (instance.members.size() < 4 || ++whole % 3 != 0) continue;
    instance.members.pop_back();
    instance.complete = false;
  }
  MatchCounts counts(run_.ranks);
  counts.Add(Chapter{run_.match});
  counts.Finish(run_.match);
  run_.match.breaks = {
      {0, 3, kRunStartNs + 6'000 * kUs, 5, false}, {0, 2, kRunStartNs, 1, false}, {0, 1, kRunStartNs, 40, true}};
  const AnalysisContext context = Context();
  (void)CollectivesOf(context, run_.match);
  std::string told;
  for (const Notice& notice : notices_) told += notice.view + ": " + notice.reason + "\n";
  EXPECT_NE(told.find("collectives: rank 3 lacks 3 of 10 collectives"), std::string::npos) << told;
  EXPECT_NE(told.find("the sequence of rank 3"), std::string::npos) << told;
  EXPECT_NE(told.find("breaks 6 ms after the run's start: 5 collectives are missing"), std::string::npos) << told;
  EXPECT_EQ(told.find("the sequence of rank 2"), std::string::npos) << told;
  EXPECT_EQ(told.find("the sequence of rank 1"), std::string::npos) << told;
}

TEST(CollectivesNotices, ARankThatContradictsTheOthersAboutAGroupIsNamed) {
  RunBuilder builder;
  for (int32_t r = 0; r < 3; ++r) {
    SourceBuilder& source = builder.AddRank(r);
    source.World(3);
    const uint32_t group =
        source.Group("tp", r == 2 ? std::vector<int32_t>{0, 1, 2, 3} : std::vector<int32_t>{0, 1, 2});
    source.Collective(group, CollectiveOp::kAllReduce, 1'000'000, 50'000);
  }
  MatchedRun run = Match(builder);
  InlineExecutor executor;
  std::vector<Notice> notices;
  const AnalysisOptions options;
  const AnalysisContext context{
      run.built.run, run.built.instances, options, run.ranks, run.match, executor, 0, {true, true, true}, notices};
  (void)CollectivesOf(context, run.match);
  std::string told;
  for (const Notice& notice : notices) told += notice.reason + "\n";
  EXPECT_NE(told.find("rank 2 says that group \"tp\" has 4 members, 2 of its ranks say 3"), std::string::npos) << told;
}

TEST_F(RankSkewViews, ARankSaysWhereItRanAndHowThatIsKnown) {
  const Json row = RanksView(Context())[2];
  EXPECT_EQ(row["rank"], 2);
  EXPECT_EQ(row["rank_source"], "metadata");
  EXPECT_EQ(row["host"], "beta");
  EXPECT_EQ(row["host_source"], "trace");
  EXPECT_EQ(row["domain"], 1);
  EXPECT_EQ(row["gpu_uuid"], "GPU-2");
  EXPECT_TRUE(row["gpu_name"].is_null());
  EXPECT_EQ(row["versions"], Json({{"cuda", "12.4"}}));
  EXPECT_EQ(row["start_unix_ns"], std::to_string(kRunStartNs));
  EXPECT_EQ(row["collectives"], 20);
  EXPECT_EQ(row["steps"], Json({{"first", 0}, {"last", 9}, {"count", 10}, {"source", "ProfilerStep"}}));
}

TEST_F(RankSkewViews, OnlySelectedRanksAreListed) {
  options_.ranks = {1, 3};
  const Json rows = RanksView(Context());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1]["rank"], 3);
}

TEST_F(RankSkewViews, TheGroupWithTheLateRankComesFirst) {
  const Json rows = CollectivesOf(Context(), run_.match);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["members"], Json({0, 1}));
  EXPECT_EQ(rows[0]["communicator"]["desc"], "mesh_tp");
  EXPECT_EQ(rows[0]["communicator"]["communicator_id"].get<std::string>().size(), 12U);
  EXPECT_EQ(rows[0]["verdict"], "skew");
  EXPECT_EQ(rows[0]["wait_ns"]["max"], 90 * kUs);
  EXPECT_EQ(rows[0]["instances"], 10);
}

TEST_F(RankSkewViews, AcrossAlignedClocksEveryFigureHasItsUncertainty) {
  options_.instances = -1;
  const Json skew = SkewOf(Context(), run_.match);
  for (const Json& instance : skew["instances"]) {
    EXPECT_GT(instance["uncertainty_ns"], 0);
    EXPECT_GT(instance["members"][0]["wait_uncertainty_ns"], 0);
    // All four start together: who came last is never certain.
    EXPECT_EQ(instance["last_certain"], instance["members"].size() == 2 && instance["members"][1]["rank"] == 1);
  }
  EXPECT_GT(skew["ranks"][1]["caused_wait_uncertainty_ns"], 0);
  const Json rows = CollectivesOf(Context(), run_.match);
  for (const Json& row : rows) EXPECT_GT(row["wait_uncertainty_ns"], 0);
}

TEST_F(RankSkewViews, EveryStepNamesWhoMadeTheOthersWait) {
  const Json steps = SkewOf(Context(), run_.match)["steps"];
  ASSERT_EQ(steps.size(), 10U);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(steps[i]["step"], i);
    EXPECT_EQ(steps[i]["instances"], 3);
    EXPECT_EQ(steps[i]["worst_rank"], 1);
    EXPECT_EQ(steps[i]["worst_caused_wait_ns"], 90 * kUs);
  }
}

TEST_F(RankSkewViews, AcrossClocksARowIsMatchedButNothingIsResolved) {
  Disconnect();
  const Json rows = CollectivesOf(Context(), run_.match);
  const auto world = std::find_if(rows.begin(), rows.end(), [](const Json& r) { return r["members"].size() == 4; });
  ASSERT_NE(world, rows.end());
  EXPECT_EQ((*world)["matched"], 10);
  EXPECT_EQ((*world)["match"], "order");
  EXPECT_EQ((*world)["spread_ns"]["count"], 0);
  EXPECT_EQ((*world)["verdict"], "inconclusive");
  EXPECT_TRUE((*world)["skew_share_ratio"].is_null());
  EXPECT_FALSE(notices_.empty());
}

TEST_F(RankSkewViews, TheLateRankCausesTheWaiting) {
  const Json skew = SkewOf(Context(), run_.match);
  EXPECT_EQ(skew["ranks"][1]["caused_wait_total_ns"], 900 * kUs);
  EXPECT_EQ(skew["ranks"][1]["last_arrival_ratio"], 1.0);
  EXPECT_EQ(skew["ranks"][0]["wait_total_ns"], 900 * kUs);
  EXPECT_EQ(skew["unassigned_wait_ns"], 0);
  EXPECT_EQ(skew["ranks"][3]["caused_wait_total_ns"], 0);
}

TEST_F(RankSkewViews, InstancesAreListedOnlyWhenAsked) {
  EXPECT_TRUE(SkewOf(Context(), run_.match)["instances"].empty());
  options_.instances = -1;
  EXPECT_EQ(SkewOf(Context(), run_.match)["instances"].size(), 30U);
}

TEST_F(RankSkewViews, ALimitKeepsTheInstancesWithTheMostWaiting) {
  options_.instances = 10;
  const Json instances = SkewOf(Context(), run_.match)["instances"];
  ASSERT_EQ(instances.size(), 10U);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(instances[i]["members"].size(), 2U);
    EXPECT_EQ(instances[i]["members"][1]["rank"], 1);
    EXPECT_EQ(instances[i]["index"], i);
    EXPECT_EQ(instances[i]["seq"], std::to_string(i + 1));
  }
}

TEST_F(RankSkewViews, TimesOfMembersAreRelativeToTheRunsStart) {
  options_.instances = -1;
  options_.steps = {3, 3};
  const Json instances = SkewOf(Context(), run_.match)["instances"];
  ASSERT_EQ(instances.size(), 3U);
  for (const Json& instance : instances) {
    EXPECT_EQ(instance["step"], 3);
    EXPECT_LT(instance["members"][0]["start_ns"], 8'000 * kUs);
  }
}

TEST_F(RankSkewViews, AnInstanceAcrossClocksShowsNoArrivals) {
  Disconnect();
  options_.instances = -1;
  const Json instances = SkewOf(Context(), run_.match)["instances"];
  for (const Json& instance : instances) {
    const bool across = instance["members"].size() == 4;
    EXPECT_EQ(instance["spread_ns"].is_null(), across);
    EXPECT_EQ(instance["last_rank"].is_null(), across);
    EXPECT_EQ(instance["members"][0]["wait_ns"].is_null(), across);
    EXPECT_TRUE(instance["complete"]);
  }
}

TEST_F(RankSkewViews, TimeSelectsByTheFirstStart) {
  options_.instances = -1;
  options_.time_ns = {2'000 * kUs, 4'000 * kUs};
  const Json instances = SkewOf(Context(), run_.match)["instances"];
  ASSERT_EQ(instances.size(), 3U);
  for (const Json& instance : instances) EXPECT_EQ(instance["step"], 1);
}

TEST_F(RankSkewViews, SelectingOneMemberSelectsTheInstance) {
  options_.instances = -1;
  options_.ranks = {1};
  EXPECT_EQ(SkewOf(Context(), run_.match)["instances"].size(), 20U);
  EXPECT_EQ(SkewOf(Context(), run_.match)["ranks"].size(), 1U);
}

TEST_F(RankSkewViews, TheNameOfARangeSelectsItsStep) {
  options_.instances = -1;
  options_.nvtx = "ProfilerStep#4";
  const Json instances = SkewOf(Context(), run_.match)["instances"];
  ASSERT_EQ(instances.size(), 3U);
  for (const Json& instance : instances) EXPECT_EQ(instance["step"], 4);
}

}  // namespace
}  // namespace lockstep
