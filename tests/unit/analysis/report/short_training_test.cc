// Who is named of a training of a few steps, whose gradients are reduced beside the backward pass: the ranks of a
// tensor group wait for the slow one of them, and all other replicas then wait for each of the group.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/report/json.h"
#include "analysis/report/report.h"
#include "tests/support/simulator/simulated.h"

namespace lockstep {
namespace {

struct Training {
  int tp = 2;
  int dp = 2;
  int steps = 2;
  int slow = 0;
  double factor = 1.1;
  int layers = 4;
};

Training Draw(std::mt19937& random) {
  const auto of = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  Training job;
  job.tp = 1 << of(1, 3);
  job.dp = 1 << of(1, 3);
  job.steps = of(2, 16);
  job.slow = of(0, job.tp * job.dp - 1);
  job.factor = 1 + 0.01 * of(6, 25);
  job.layers = of(4, 12);
  return job;
}

Json SummaryOf(const Training& job, int seed) {
  const std::unique_ptr<SimulatedRun> run =
      Simulated({"--program", "train", "--tp", std::to_string(job.tp), "--dp", std::to_string(job.dp), "--hosts", "1",
                 "--gpus-per-host", std::to_string(job.tp * job.dp), "--layers", std::to_string(job.layers), "--steps",
                 std::to_string(job.steps), "--cause", fmt::format("slow_gpu:rank={},factor={}", job.slow, job.factor)},
                seed);
  AnalysisOptions options;
  options.views = {"summary"};
  SerialExecutor executor;
  auto report = BuildReport(run->run, *run->instances, options, executor);
  EXPECT_TRUE(report.ok()) << report.status();
  return report->at("summary");
}

TEST(ShortTraining, NobodyWhoOnlyWaitedForTheSlowRankIsAccused) {
  std::mt19937 random(19);
  for (int trial = 0; trial < 12; ++trial) {
    const Training job = Draw(random);
    SCOPED_TRACE(fmt::format("trial {}: tp {} dp {} steps {} layers {} slow {} by {}", trial, job.tp, job.dp, job.steps,
                             job.layers, job.slow, job.factor));
    const Json summary = SummaryOf(job, trial);
    ASSERT_FALSE(summary.at("culprits").empty());
    const Json& first = summary.at("culprits").front();
    EXPECT_EQ(first.at("rank"), job.slow);
    // What the replicas lose to its group is blamed on it as well.
    EXPECT_GT(first.at("share_of_wait_ratio").get<double>(), 0.5);
    for (const Json& culprit : summary.at("culprits")) {
      const bool sure = culprit.at("confidence").get<double>() > 0.5;
      EXPECT_TRUE(culprit.at("rank") == job.slow || !sure) << culprit.at("rank");
    }
  }
}

}  // namespace
}  // namespace lockstep
