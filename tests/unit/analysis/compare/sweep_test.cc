#include "analysis/compare/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/compare/random_run.h"

namespace lockstep::compare {
namespace {

using testing::HasSubstr;

// Attention grows as the context length to the power 1.5, and the gemm as its power `gemm`.
std::vector<ComparedRun> Lengths(double gemm) {
  std::vector<ComparedRun> runs;
  for (const double length : {4096.0, 1024.0, 2048.0, 8192.0}) {
    RunPlan plan;
    plan.name = "s" + std::to_string(static_cast<int>(length));
    plan.kernels[0].ns = 20'000 * std::pow(length / 1024, gemm);
    plan.kernels[1].ns = 10'000 * std::pow(length / 1024, 1.5);
    plan.context = {{"seqlen", std::to_string(static_cast<int>(length))}};
    runs.push_back(RandomRun(plan, static_cast<uint32_t>(length)));
  }
  return runs;
}

const report::SweepPart& PartNamed(const report::Sweep& sweep, std::string_view name) {
  return *std::find_if(sweep.parts.begin(), sweep.parts.end(),
                       [&](const report::SweepPart& part) { return part.part == name; });
}

TEST(Sweep, FindsTheExponentsOfTheFamilies) {
  const report::Sweep sweep = SweepOf(Lengths(0), "seqlen").value();
  EXPECT_NEAR(*PartNamed(sweep, "attention").exponent, 1.5, 0.02);
  EXPECT_FALSE(PartNamed(sweep, "attention").should_not_grow);
  EXPECT_NEAR(*PartNamed(sweep, "gemm").exponent, 0, 0.02);
  EXPECT_FALSE(PartNamed(sweep, "gemm").should_not_grow);
  EXPECT_EQ(sweep.parts.front().part, "step_time");
  EXPECT_EQ(sweep.runs.front().name, "s1024");
}

TEST(Sweep, NamesWhatGrowsAndShouldNot) {
  const report::Sweep sweep = SweepOf(Lengths(0.5), "seqlen").value();
  EXPECT_TRUE(PartNamed(sweep, "gemm").should_not_grow);
  EXPECT_THAT(sweep.sentence, HasSubstr("These grow although nothing of them depends on seqlen: gemm."));
  EXPECT_THAT(RenderText(sweep, {}), HasSubstr("should not grow"));
}

TEST(Sweep, OfAKeyOfUnknownMeaningAccusesNothing) {
  std::vector<ComparedRun> runs = Lengths(0.5);
  for (ComparedRun& run : runs) run.context["frobs"] = run.context["seqlen"];
  const auto sweep = SweepOf(runs, "frobs");
  ASSERT_TRUE(sweep.ok());
  for (const report::SweepPart& part : sweep->parts) EXPECT_FALSE(part.should_not_grow);
}

TEST(Sweep, IntervalsHoldTheTrueExponent) {
  std::mt19937 random(20261133);
  std::normal_distribution<double> noise(0, 0.05);
  int held = 0;
  constexpr int kDraws = 2'000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<double> values;
    std::vector<double> times;
    for (const double value : {1.0, 2.0, 4.0, 8.0}) {
      values.push_back(value);
      times.push_back(100 * std::pow(value, 0.7) * std::exp(noise(random)));
    }
    const PowerFit fit = FitPower(values, times);
    held += fit.low <= 0.7 && fit.high >= 0.7 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(held) / kDraws, 0.95, 0.02);
}

TEST(Sweep, RefusesWhatHasNoOrder) {
  std::vector<ComparedRun> runs = Lengths(0);
  EXPECT_THAT(std::string(SweepOf(runs, "batch").status().message()), HasSubstr("its context has no number 'batch'"));
  for (ComparedRun& run : runs) run.context["batch"] = "8";
  EXPECT_THAT(std::string(SweepOf(runs, "batch").status().message()), HasSubstr("it is 8 in all runs"));
  runs.pop_back();
  runs.pop_back();
  EXPECT_THAT(std::string(SweepOf(runs, "seqlen").status().message()), HasSubstr("--by needs at least 3 runs"));
}

TEST(Sweep, HasEveryPartInItsCsv) {
  const report::Sweep sweep = SweepOf(Lengths(0), "seqlen").value();
  const std::string csv = RenderCsv(sweep);
  EXPECT_EQ(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')), 1 + sweep.parts.size() * sweep.runs.size());
}

}  // namespace
}  // namespace lockstep::compare
