#include <gtest/gtest.h>

#include <string>

#include "analysis/report/json.h"

namespace lockstep {
namespace {

Json Summary() {
  return {{"time_share",
           {{"compute_ratio", 0.6},
            {"exposed_wait_ratio", 0.2},
            {"exposed_transfer_ratio", 0.1},
            {"exposed_unresolved_ratio", 0},
            {"copy_ratio", 0},
            {"opaque_ratio", 0},
            {"idle_ratio", 0.1}}},
          {"culprits", Json::array()},
          {"verdict", "skew"},
          {"wait_total_ns", 15'100'000},
          {"rank_time_ns", 800'000'000},
          {"unassigned_wait_ns", 2'800'000},
          {"worst_collectives", Json::array({{{"communicator_id", "aa"},
                                              {"op", "AllReduce"},
                                              {"bytes", 4},
                                              {"wait_total_ns", 1},
                                              {"verdict", "skew"}}})},
          {"worst_tails", Json::array()},
          {"problems", Json::array()},
          {"next", Json::array()}};
}

Json Culprit() {
  return {{"scope", "rank"},
          {"id", "5"},
          {"host", "node7"},
          {"gpu_uuid", "GPU-1"},
          {"caused_wait_total_ns", 12'300'000},
          {"share_of_wait_ratio", 0.8146},
          {"confidence", 0.97},
          {"cause", nullptr},
          {"saving_ratio", nullptr},
          {"worst_at_ns", 2'000'000},
          {"worst_at_unix_ns", "1728123456000000000"}};
}

std::string Render(Json summary, int64_t ranks = 8) {
  return RenderText({{"schema", "lockstep.report/1"},
                     {"notices", Json::array()},
                     {"run", {{"name", "r"}, {"ranks", ranks}, {"span_ns", 100'000'000}, {"analysed", nullptr}}},
                     {"summary", std::move(summary)}},
                    {});
}

bool Says(const std::string& text, std::string_view what) { return text.find(what) != std::string::npos; }

TEST(TextSummary, FirstSaysWhoMakesTheOthersWaitHowMuchAndHowSure) {
  Json summary = Summary();
  summary["culprits"].push_back(Culprit());
  const std::string text = Render(summary);
  EXPECT_TRUE(Says(text, "\n\nRank 5 makes the others wait: 12.3 ms of 15.1 ms of waiting (81.5 %).\n")) << text;
  EXPECT_TRUE(Says(text, "confidence  certain (97.0 %)")) << text;
}

TEST(TextSummary, SaysWhereTheCulpritIsAndWhenItWasWorst) {
  Json summary = Summary();
  summary["culprits"].push_back(Culprit());
  const std::string text = Render(summary);
  EXPECT_TRUE(Says(text, "where       host node7, device GPU-1")) << text;
  EXPECT_TRUE(Says(text, "worst wait  2024-10-05 10:17:36.000000 UTC, 2 ms after the run's start")) << text;
}

TEST(TextSummary, AStragglerIsToldWithItsRecurrenceCauseAndSavingInterval) {
  Json summary = Summary();
  Json culprit = Culprit();
  culprit["cause"] = "slow_device";
  culprit["excess_ratio"] = 0.03;
  culprit["recurrence"] = "persistent";
  culprit["persistence"] = 0.96;
  culprit["steps"] = 50;
  culprit["saving_ratio"] = 0.016;
  culprit["saving_interval_ratio"] = {0.014, 0.018};
  summary["culprits"].push_back(culprit);
  const std::string text = Render(summary);
  EXPECT_TRUE(Says(text, "confidence  certain (97.0 %), in 96.0 % of 50 steps")) << text;
  EXPECT_TRUE(Says(text, "cause       all its kernels run 3.0 % slower than on its peers")) << text;
  EXPECT_TRUE(Says(text, "saving      1.6 % of each step (1.4 % to 1.8 %) if it were as fast as its peers")) << text;
}

TEST(TextSummary, ASavingBelowNothingIsNone) {
  Json summary = Summary();
  Json culprit = Culprit();
  culprit["saving_ratio"] = -0.003;
  culprit["saving_interval_ratio"] = {-0.003, 0.001};
  summary["culprits"].push_back(culprit);
  const std::string text = Render(summary);
  EXPECT_TRUE(Says(text, "saving      none: replayed without its delay, the run takes as long")) << text;
}

TEST(TextSummary, ALateHostIsToldAsAHost) {
  Json summary = Summary();
  Json culprit = Culprit();
  culprit["scope"] = "host";
  culprit["id"] = "node7";
  culprit["cause"] = "host_delay";
  summary["culprits"].push_back(culprit);
  const std::string text = Render(summary);
  EXPECT_TRUE(Says(text, "Host node7 makes the others wait")) << text;
  EXPECT_TRUE(Says(text, "cause       its CPU launches kernels late, so its GPU waits for its own host")) << text;
}

TEST(TextSummary, WhatHappenedOnceIsNotSaidToComeBack) {
  Json summary = Summary();
  Json culprit = Culprit();
  culprit["recurrence"] = "once";
  summary["culprits"].push_back(culprit);
  EXPECT_TRUE(Says(Render(summary), "seen once, with no sign that it recurs"));
}

TEST(TextStragglers, NamesScopeRecurrenceAndInterval) {
  const Json row = {{"scope", "rail"},
                    {"id", "rail 2"},
                    {"host", nullptr},
                    {"kind", "periodic"},
                    {"period_steps", 10},
                    {"effect_ns_per_step", 200'000},
                    {"confidence_interval_ns", {190'000, 210'000}},
                    {"p_adjusted", 0.0001},
                    {"saving_ns_per_step", 180'000},
                    {"saving_ratio", 0.02},
                    {"persistence", 0.1},
                    {"steps", 50},
                    {"n_eff", 40.5},
                    {"parts", Json::array({{{"cause", "transfer"}}})}};
  const std::string text = RenderText({{"stragglers", Json::array({row})}}, {});
  EXPECT_TRUE(Says(text, "rail 2")) << text;
  EXPECT_FALSE(Says(text, "rail rail")) << text;
  EXPECT_TRUE(Says(text, "every 10 steps")) << text;
  EXPECT_TRUE(Says(text, "late by 190 us to 210 us a step (95 % confidence), in 50 steps (equivalent to 40.5")) << text;
  EXPECT_TRUE(Says(text, "in at most one of 10,000 runs")) << text;
  EXPECT_FALSE(Says(text, "late again and again)")) << text;
}

TEST(TextStragglers, SaysWhatTheOthersLostAndWhetherDurationsAgree) {
  Json row = {{"scope", "rank"},
              {"id", "3"},
              {"blamed_wait_ns", 4'500'000},
              {"blamed_critical_ns", 1'500'000},
              {"frontier", "agrees"}};
  const std::string agreed = RenderText({{"stragglers", Json::array({row})}}, {});
  EXPECT_TRUE(Says(agreed, "the others lost 4.50 ms of GPU time to it, and it delayed collectives by 1.50 ms"))
      << agreed;
  row["frontier"] = "disagrees";
  EXPECT_TRUE(Says(RenderText({{"stragglers", Json::array({row})}}, {}), "point elsewhere"));
  row["frontier"] = "cannot_tell";
  EXPECT_TRUE(Says(RenderText({{"stragglers", Json::array({row})}}, {}), "do not decide it"));
}

TEST(TextStragglers, WhereNobodyIsNamedTheReasonIsInTheSection) {
  const Json notices = {{{"view", "stragglers"}, {"reason", "not enough data: 2 steps are too few"}},
                        {{"view", "nvtx"}, {"reason", "ranges are summed"}}};
  const std::string text = RenderText({{"notices", notices}, {"stragglers", Json::array()}}, {});
  EXPECT_TRUE(Says(text, "  (not enough data to decide)\n  not enough data: 2 steps are too few\n")) << text;
  EXPECT_TRUE(Says(text, "\nnotices\n  nvtx: ranges are summed\n")) << text;
  EXPECT_FALSE(Says(text, "stragglers: not enough data")) << text;
  const std::string other_view = RenderText({{"notices", notices}}, {});
  EXPECT_TRUE(Says(other_view, "stragglers: not enough data")) << other_view;
}

Json FindingWith(const std::string& id, Json evidence) {
  return {{"id", id},
          {"severity", "major"},
          {"title", "t"},
          {"cause", "why"},
          {"next_action", "act"},
          {"evidence", std::move(evidence)},
          {"saving_ratio", 0.522}};
}

TEST(TextFindings, EvidenceIsInWordsWithUnits) {
  const Json evidence = {
      {{"metric", "lateness_ns_per_step"}, {"value", 5271334}, {"threshold", 0}, {"where", "rank 5 on node0"}},
      {{"metric", "saving_ratio"}, {"value", 0.634896298}, {"threshold", 0.003}, {"where", nullptr}},
      {{"metric", "p_adjusted"}, {"value", 0}, {"threshold", 0.01}, {"where", nullptr}},
      {{"metric", "sync_calls_per_step"}, {"value", 10}, {"threshold", 2}, {"where", nullptr}},
      {{"metric", "p99_over_p50_ratio"}, {"value", 2.3456}, {"threshold", 1.5}, {"where", nullptr}},
      {{"metric", "link_rate_gbps"}, {"value", 12.345}, {"threshold", 50}, {"where", nullptr}},
      {{"metric", "moved_bytes"}, {"value", 4194304}, {"threshold", 1000}, {"where", nullptr}}};
  const Json findings = Json::array({FindingWith("persistent_straggler", evidence)});
  const std::string text = RenderText({{"findings", findings}}, {});
  EXPECT_TRUE(Says(text, "    lateness 5.27 ms a step, rank 5 on node0\n")) << text;
  EXPECT_FALSE(Says(text, "63.5 %")) << "the line of the saving has it";
  EXPECT_TRUE(Says(text, "    probability by chance under 0.000001 (limit 0.01)\n")) << text;
  EXPECT_TRUE(Says(text, "    synchronising calls 10 a step (limit 2)\n")) << text;
  EXPECT_TRUE(Says(text, "    p99 over median 2.35 (limit 1.5)\n")) << text;
  EXPECT_TRUE(Says(text, "    link rate 12.3 GB/s (limit 50 GB/s)\n")) << text;
  EXPECT_TRUE(Says(text, "    moved 4.19 MB (limit 1 kB)\n")) << text;
  EXPECT_TRUE(Says(text, "    saving: 52.2 % of each step")) << text;
}

TEST(TextFindings, WhatAFindingCostsIsAnUpperLimitOfTheSaving) {
  const Json evidence = Json::array({{{"metric", "idle_for_host_ratio"}, {"value", 0.9}, {"threshold", 0.5}}});
  const Json findings =
      Json::array({FindingWith("gpu_idle_host_bound", evidence), FindingWith("launch_bound", evidence)});
  const std::string text = RenderText({{"findings", findings}}, {});
  EXPECT_TRUE(Says(text, "    saving: at most 52.2 % of the GPU time\n")) << text;
  EXPECT_TRUE(Says(text, "    idle time in which the device waits for the host 90 % (limit 50 %)\n")) << text;
  EXPECT_TRUE(Says(text, "    idle, waiting for the host 90 % (limit 50 %)\n")) << text;
}

TEST(TextQuality, CountersSayWhatBecameOfTheRecords) {
  Json ranks = Json::array();
  for (int i = 0; i < 4; ++i) ranks.push_back({{"rank", i}, {"counters", {{"no_group", 8}}}});
  ranks[1]["counters"] = {{"missing_launch", 1064}, {"zero_time", 3}, {"no_group", 8}};
  const Json files = Json::array({{{"path", "a"}, {"status", "used"}}, {{"path", "b"}, {"status", "skipped"}}});
  const std::string text =
      RenderText({{"quality", {{"gates", Json::array()}, {"ranks", ranks}, {"files", files}}}}, {});
  EXPECT_TRUE(Says(text, "  ranks 0, 2 and 3, each: kept 8 collectives without a process group\n")) << text;
  EXPECT_TRUE(Says(text, "  rank 1: lost 3 without a time; kept 1,064 without a launch call, 8 collectives")) << text;
  EXPECT_TRUE(Says(text, "1 of 2 read completely")) << text;
}

TEST(TextSummary, SaysThatDurationsAlonePointElsewhere) {
  Json summary = Summary();
  Json culprit = Culprit();
  culprit["frontier"] = "disagrees";
  culprit["confidence"] = 0.5;
  summary["culprits"].push_back(culprit);
  const std::string text = Render(summary);
  EXPECT_TRUE(Says(text, "not sure (50.0 %), but durations without clocks point to another rank")) << text;
}

TEST(TextSummary, AStragglerWithoutASavingSaysWhy) {
  Json summary = Summary();
  Json culprit = Culprit();
  culprit["recurrence"] = "persistent";
  culprit["persistence"] = 1.0;
  culprit["saving_ratio"] = nullptr;
  culprit["saving_reason"] = "the replay does not reproduce the run";
  summary["culprits"].push_back(culprit);
  EXPECT_TRUE(Says(Render(summary), "saving      unknown: the replay does not reproduce the run"));
}

TEST(TextSummary, BlamesNobodyWhereNoRankStandsOut) {
  EXPECT_TRUE(Says(Render(Summary()), "Nobody in particular makes the others wait: 15.1 ms of waiting"));
}

TEST(TextSummary, OneRankAloneCannotTellWaiting) {
  Json summary = Summary();
  summary["wait_total_ns"] = 0;
  summary["time_share"]["exposed_wait_ratio"] = 0;
  summary["time_share"]["exposed_unresolved_ratio"] = 0.3;
  EXPECT_TRUE(Says(Render(summary, 1), "Waiting cannot be told: one rank alone does not show when the others arrive."));
}

TEST(TextSummary, WaitingThatIsHiddenByBadDataIsExplainedByTheFailedGate) {
  Json summary = Summary();
  summary["wait_total_ns"] = 0;
  summary["time_share"]["exposed_unresolved_ratio"] = 0.3;
  summary["problems"].push_back({{"gate", "clock"}, {"detail", "3 clock domains"}, {"fix", "fix it"}});
  EXPECT_TRUE(Says(Render(summary), "Waiting cannot be told: 3 clock domains."));
}

TEST(TextSummary, WithoutCommunicationNobodyWaits) {
  Json summary = Summary();
  summary["wait_total_ns"] = 0;
  summary["time_share"]["exposed_transfer_ratio"] = 0;
  summary["worst_collectives"] = Json::array();
  EXPECT_TRUE(Says(Render(summary), "no kernel in the analysed traces is known to communicate"));
}

TEST(TextSummary, RanksThatArriveTogetherDoNotWait) {
  Json summary = Summary();
  summary["wait_total_ns"] = 0;
  EXPECT_TRUE(Says(Render(summary), "Nobody waits: in every collective"));
}

TEST(TextSummary, SaysWhatWasAnalysedWhereThatIsOnlyAPart) {
  Json summary = Summary();
  summary["culprits"].push_back(Culprit());
  const Json run = {{"name", "r"}, {"ranks", 8}, {"span_ns", 100'000'000}, {"analysed", {{"steps", {1, 2}}}}};
  const std::string text = RenderText({{"run", run}, {"summary", summary}}, {});
  EXPECT_TRUE(Says(text, "selection: steps 1..2")) << text;
}

TEST(TextSummary, TailsThatLoseNothingAreNotListed) {
  Json summary = Summary();
  summary["worst_tails"] = Json::array(
      {{{"name", "lossy"}, {"rank", 1}, {"tail_score", 0.02}}, {{"name", "fine"}, {"rank", 1}, {"tail_score", 1e-5}}});
  const std::string text = Render(summary);
  EXPECT_TRUE(Says(text, "lossy"));
  EXPECT_FALSE(Says(text, "fine"));
}

TEST(TextRenderer, ATailWithoutAP99IsNoRanksInParticular) {
  const Json parts = Json::array({{{"rank", 7}, {"share_of_tail_ratio", nullptr}}});
  const Json tail = {{"name", "k"}, {"tail_score", 0.2}, {"by_rank", parts}};
  EXPECT_FALSE(Says(RenderText({{"tails", Json::array({tail})}}, {}), "7"));
  Json told = tail;
  told["by_rank"][0]["share_of_tail_ratio"] = 0.75;
  EXPECT_TRUE(Says(RenderText({{"tails", Json::array({told})}}, {}), "7   75"))
      << RenderText({{"tails", Json::array({told})}}, {});
}

TEST(TextRenderer, ARunThatIsStillOpenSaysSo) {
  EXPECT_TRUE(Says(RenderText({{"run", {{"name", "r"}, {"ranks", 1}, {"state", "open"}}}}, {}),
                   "(its traces are not complete)"));
}

TEST(TextRenderer, MoreRowsAreShownWhenAskedFor) {
  Json rows = Json::array();
  for (int i = 0; i < 30; ++i) rows.push_back({{"family", "f"}, {"instances", i}, {"total_ns", i}, {"share_ratio", 0}});
  TextOptions options;
  EXPECT_TRUE(Says(RenderText({{"families", rows}}, options), "... and 10 more (--limit)"));
  options.max_rows = 30;
  EXPECT_FALSE(Says(RenderText({{"families", rows}}, options), "more (--limit)"));
}

TEST(TextRenderer, AmongManyRanksTheCulpritsComeFirst) {
  Json ranks = Json::array();
  for (int i = 0; i < 64; ++i) ranks.push_back({{"rank", 1000 + i}, {"caused_wait_total_ns", i == 63 ? 5 : 0}});
  const std::string text =
      RenderText({{"skew", {{"unassigned_wait_ns", 0}, {"ranks", ranks}, {"instances", Json::array()}}}}, {});
  EXPECT_TRUE(Says(text, "1063")) << text;
}

TEST(TextRenderer, ALastRankThatIsNotCertainIsMarked) {
  Json instance = {{"communicator_id", "aa"}, {"index", 0},
                   {"op", "AllReduce"},       {"last_rank", 3},
                   {"last_certain", false},   {"members", Json::array()}};
  const std::string text =
      RenderText({{"skew", {{"ranks", Json::array()}, {"instances", Json::array({instance})}}}}, {});
  EXPECT_TRUE(Says(text, "3?")) << text;
}

TEST(TextRenderer, FailedGatesComeFirstWithTheirFix) {
  const Json gates = Json::array({{{"name", "a_good"}, {"ok", true}, {"detail", "d"}, {"fix", nullptr}},
                                  {{"name", "b_bad"}, {"ok", false}, {"detail", "broken"}, {"fix", "mend"}},
                                  {{"name", "c_none"}, {"ok", nullptr}, {"detail", "d"}, {"fix", nullptr}}});
  const std::string text =
      RenderText({{"quality", {{"gates", gates}, {"ranks", Json::array()}, {"files", Json::array()}}}}, {});
  EXPECT_LT(text.find("FAIL b_bad"), text.find("ok   a_good"));
  EXPECT_TRUE(Says(text, "fix: mend"));
}

TEST(TextRenderer, ADocumentOfWrongTypesIsRenderedAllTheSame) {
  Json document = {{"notices", 1},
                   {"run", {{"name", 2}, {"ranks", "x"}, {"missing_ranks", 3}, {"analysed", {{"steps", 1}}}}}};
  for (const std::string& view : AllViews())
    document[view] = view == "summary" ? Json({{"culprits", {1}}, {"next", {1}}}) : Json(7);
  EXPECT_FALSE(RenderText(document, {}).empty());
  for (const std::string& view : AllViews())
    document[view] = Json::array({1, "x", nullptr, Json::array(), Json::object()});
  EXPECT_FALSE(RenderText(document, {}).empty());
}

}  // namespace
}  // namespace lockstep
