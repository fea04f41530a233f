// The sections about time: steps, pace; and what imbalance says of who only waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report/json.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

Json With(const char* view, Json content) {
  Json report = {{"schema", "lockstep.report/1"}, {"notices", Json::array()}, {"run", {{"name", "r"}, {"ranks", 1}}}};
  report[view] = std::move(content);
  return report;
}

Json Step(int number, int64_t span_ns, Json why) {
  return {{"rank", 0}, {"step", number}, {"start_ns", 0}, {"span_ns", span_ns}, {"why", std::move(why)}};
}

TEST(TextOfSteps, TellsWhyTheSlowOnesWereSlow) {
  const Json steps = {Step(1, 100, nullptr), Step(2, 300, "waiting +2 ms, for rank 3"), Step(3, 200, "copies +1 ms")};
  const std::string text = RenderText(With("steps", steps), {});
  EXPECT_THAT(text, HasSubstr("2 longer than noise explains"));
  EXPECT_THAT(text, HasSubstr("rank 0, step 2: waiting +2 ms, for rank 3"));
  EXPECT_LT(text.find("step 2:"), text.find("step 3:")) << "the longest first";
}

TEST(TextOfSteps, TellsWhatTheHostDidInThemAsMeans) {
  Json first = Step(1, 100, nullptr);
  first["launches"] = 10;
  first["host"] = {{"launch_ns", 4'000}, {"graph_launches", 1}, {"sync_calls", 3},
                   {"sync_ns", 600},     {"alloc_calls", 0},    {"alloc_ns", 0},
                   {"alloc_max_ns", 0},  {"host_copies", 0},    {"host_copy_ns", 0}};
  Json second = first;
  second["launches"] = 13;
  second["host"]["alloc_calls"] = 1;
  second["host"]["alloc_ns"] = second["host"]["alloc_max_ns"] = 8'000;
  const std::string text = RenderText(With("steps", {first, second}), {});
  EXPECT_THAT(text, testing::ContainsRegex("\n +0 +11\\.5 +4 +1\\.0 +3\\.0 +600 +0\\.5 +4 +8 +0\\.0 +0\n"));
  EXPECT_THAT(RenderText(With("steps", Json::array({Step(1, 100, nullptr)})), {}),
              Not(HasSubstr("host calls in a step")));
}

TEST(TextOfSteps, SaysNothingOfStepsWithinTheNoise) {
  EXPECT_THAT(RenderText(With("steps", Json::array({Step(1, 100, nullptr)})), {}), Not(HasSubstr("slow steps")));
}

TEST(TextOfPace, TellsHowFarEachRankIs) {
  Json rank = {{"rank", 7}, {"compute_ratio", {0.5, 0.5}}, {"comm_ratio", {0, 0}}, {"busy_ratio", {0.5, 0.5}}};
  rank["steps_done"] = {1.25, 2.5};
  const Json pace = {{"bucket_ns", 1'024}, {"start_ns", 0}, {"ranks", {rank}}};
  const std::string text = RenderText(With("pace", pace), {});
  EXPECT_THAT(text, HasSubstr("steps done"));
  EXPECT_THAT(text, HasSubstr("2.5"));
}

TEST(TextOfImbalance, ARankThatOnlyWaitsIsCalledThat) {
  const Json quantity = {
      {"quantity", "nccl_total"}, {"unit", "ns"}, {"per_rank", Json::array()}, {"kind", "unknown"}, {"waits", true}};
  const Json view = {{"window", {{"kind", "steps"}}}, {"quantities", {quantity}}};
  EXPECT_THAT(RenderText(With("imbalance", view), {}), HasSubstr("waiting for peers"));
}

TEST(TextOfImbalance, ARankThatWaitsForAnotherSaysForWhom) {
  const Json quantity = {{"quantity", "comm"}, {"unit", "ns"}, {"waits", true}, {"waits_for_rank", 5}};
  const Json view = {{"window", {{"kind", "steps"}}}, {"quantities", {quantity}}};
  EXPECT_THAT(RenderText(With("imbalance", view), {}), HasSubstr("waiting for rank 5"));
}

TEST(TextOfImbalance, IdleTimeOfALateHostIsCalledThat) {
  Json idle = {
      {"quantity", "idle"}, {"unit", "ns"}, {"kind", "unknown"}, {"max_over_mean_ratio", 4.9}, {"idle_cause", "host"}};
  const auto text = [&] {
    return RenderText(With("imbalance", {{"window", {{"kind", "steps"}}}, {"quantities", {idle}}}), {});
  };
  EXPECT_THAT(text(), HasSubstr("host launches late"));
  idle["idle_cause"] = nullptr;
  EXPECT_THAT(text(), HasSubstr("unknown"));
  idle["max_over_mean_ratio"] = 1.001;
  EXPECT_THAT(text(), Not(HasSubstr("unknown"))) << "nothing has to be explained";
}

TEST(TextOfPace, AWindowThatBeginsBeforeTheRunSaysSo) {
  const Json rank = {{"rank", 7}, {"compute_ratio", {0.5}}, {"comm_ratio", {0}}, {"busy_ratio", {0.5}}};
  const Json pace = {{"bucket_ns", 1'000'000}, {"start_ns", -899'000}, {"ranks", {rank}}};
  EXPECT_THAT(RenderText(With("pace", pace), {}), HasSubstr("1 ms from 899 us before the run's start"));
}

TEST(TextOfRanges, StepsAreFoldedIntoOneRow) {
  const auto range = [](const char* name, const char* style, int64_t total_ns) {
    return Json{{"range", name}, {"style", style}, {"instances", 8}, {"total_ns", total_ns}};
  };
  const Json nvtx = {range("ProfilerStep#9", "step", 3'000), range("layer#1", "push_pop", 2'500),
                     range("ProfilerStep#10", "step", 2'000), range("other#1", "step", 1'000)};
  const std::string text = RenderText(With("nvtx", nvtx), {});
  EXPECT_THAT(text, testing::ContainsRegex("ProfilerStep \\(2 steps: --view steps\\) .* 16 +5"));
  EXPECT_THAT(text, HasSubstr("layer#1"));
  EXPECT_THAT(text, HasSubstr("other#1"));
}

TEST(TextOfTails, ATailThatWaitsSaysForWhom) {
  const Json tail = {{"name", "k"}, {"tail_score", 0.2}, {"waits_for_rank", 5}};
  EXPECT_THAT(RenderText(With("tails", Json::array({tail})), {}), HasSubstr("waiting for"));
  EXPECT_THAT(RenderText(With("tails", Json::array({tail})), {}), HasSubstr("rank 5"));
}

TEST(TextOfSkew, GroupsHaveTheirNames) {
  Json instance = {{"communicator_id", "aa"}, {"communicator_name", "mesh_tp"}, {"index", 0}, {"op", "all_reduce"}};
  EXPECT_THAT(RenderText(With("skew", {{"instances", {instance}}}), {}), HasSubstr("mesh_tp"));
  instance["communicator_name"] = nullptr;
  EXPECT_THAT(RenderText(With("skew", {{"instances", {instance}}}), {}), HasSubstr("aa"));
}

}  // namespace
}  // namespace lockstep
