#include "analysis/compare/gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/compare/metrics.h"
#include "tests/support/compare/random_run.h"

namespace lockstep::compare {
namespace {

using testing::HasSubstr;

report::GateResult ResultOf(const std::string& text, const Sides& sides) {
  const std::vector<Gate> gates = {ParseGate(text).value()};
  return ApplyGates(gates, sides, CompareMetrics(sides).metrics).value().front();
}

Sides Slower(double factor, size_t repeats, uint32_t seed) {
  RunPlan base;
  base.noise = 0.002;
  RunPlan fresh = base;
  for (KernelPlan& kernel : fresh.kernels) kernel.ns *= factor;
  Sides sides;
  for (uint32_t i = 0; i < repeats; ++i) {
    sides.base.push_back(RandomRun(base, seed + 2 * i));
    sides.fresh.push_back(RandomRun(fresh, seed + 2 * i + 1));
  }
  return sides;
}

TEST(Gates, FailOnlyWhereTheWholeIntervalIsBeyondTheLimit) {
  const Sides sides = Slower(1.3, 3, 1);
  EXPECT_EQ(ResultOf("step_time<=2%", sides).verdict, "fails");
  EXPECT_EQ(ResultOf("step_time<=50%", sides).verdict, "holds");
  const report::GateResult result = ResultOf("step_time<=2%", sides);
  const std::string at_value = "step_time<=" + std::to_string(100 * *result.value) + "%";
  EXPECT_EQ(ResultOf(at_value, sides).verdict, "unclear");
}

TEST(Gates, OfKernelsAndFamiliesSumWhatMatches) {
  const Sides sides = Slower(1.3, 3, 2);
  const report::GateResult kernel = ResultOf("kernel:flash.*<=3%", sides);
  EXPECT_EQ(kernel.verdict, "fails");
  EXPECT_NEAR(*kernel.value, 0.3, 0.01);
  EXPECT_EQ(kernel.metric, "1 kernels");
  EXPECT_EQ(ResultOf("family:gemm<=40%", sides).verdict, "holds");
  EXPECT_EQ(ResultOf("kernel:.<=10us", sides).verdict, "holds");
}

TEST(Gates, AKernelThatTheBaseSideLacksIsBeyondAnyShare) {
  Sides sides = Slower(1, 3, 5);
  for (ComparedRun& run : sides.base) {
    std::erase_if(run.profile.kernels, [](const report::ProfileKernel& kernel) { return kernel.family == "gemm"; });
  }
  const report::GateResult result = ResultOf("family:gemm<=3%", sides);
  EXPECT_EQ(result.verdict, "fails");
  EXPECT_THAT(result.metric, HasSubstr("none on the base side"));
}

TEST(Gates, OfThroughputAreShares) {
  EXPECT_THAT(std::string(ParseGate("throughput>=-5ms").status().message()), HasSubstr("is a share"));
  EXPECT_TRUE(ParseGate("throughput>=-5%").ok());
}

TEST(Gates, ThatMatchNothingAreUnclear) {
  const report::GateResult result = ResultOf("kernel:no_such_kernel<=3%", Slower(1, 1, 3));
  EXPECT_EQ(result.verdict, "unclear");
  EXPECT_EQ(result.metric, "no kernel matches");
  EXPECT_EQ(result.value, std::nullopt);
}

TEST(Gates, OfThroughputHaveALeast) {
  Sides sides = Slower(1.3, 3, 4);
  for (auto* runs : {&sides.base, &sides.fresh}) {
    for (ComparedRun& run : *runs) run.context["tokens_per_step"] = "100";
  }
  EXPECT_EQ(ResultOf("throughput>=-2%", sides).verdict, "fails");
  EXPECT_EQ(ResultOf("throughput>=-60%", sides).verdict, "holds");
}

TEST(Gates, OfAPartThatNeitherSideHasHold) { EXPECT_EQ(ResultOf("copy<=1%", Slower(1, 1, 5)).verdict, "holds"); }

TEST(Gates, UnknownMetricsAreNamedWithThoseThatExist) {
  const absl::Status status = ParseGate("steptime<=2%").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is no metric 'steptime'; the metrics are step_time,"));
}

TEST(Gates, ThatAreNoneAreRefused) {
  for (const char* text :
       {"", "step_time", "step_time<2%", "step_time<=", "step_time<=two%", "step_time<=2", "step_time<=2 %x",
        "step_time<=nan%", "step_time<=inf%", "<=2%", "kernel:<=2%", "family:<=1%", "kernel:(<=2%"}) {
    EXPECT_EQ(ParseGate(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(Gates, OfAFileAreNamedByTheirLine) {
  const auto gates = ParseGates("# limits\n\nstep_time<=2%\r\n  exposed_wait<=500us  \n", "gates.txt");
  ASSERT_TRUE(gates.ok());
  EXPECT_EQ(gates->size(), 2U);
  EXPECT_DOUBLE_EQ((*gates)[1].limit, 500'000);
  const absl::Status wrong = ParseGates("step_time<=2%\nnonsense\n", "gates.txt").status();
  EXPECT_THAT(std::string(wrong.message()), HasSubstr("gates.txt, line 2: --gate 'nonsense'"));
}

TEST(Gates, APatternMayHaveComparisonsInIt) {
  const Gate gate = ParseGate("kernel:a<=b<=3%").value();
  EXPECT_EQ(gate.name, "a<=b");
}

}  // namespace
}  // namespace lockstep::compare
