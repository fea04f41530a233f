// Chapters on real threads: the others are tested in order, and in reverse order, on one.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/report/json.h"
#include "platform/executor.h"
#include "tests/support/simulator/simulated.h"

namespace lockstep {
namespace {

Json Report(SimulatedRun& run, const ChapterLimits& limits, Executor& executor) {
  AnalysisOptions options;
  options.views = {"all"};
  options.instances = -1;
  auto report = BuildReport(run.run, *run.instances, options, executor, limits);
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

void ExpectSameOnThreads(bool apart) {
  const std::vector<std::string> flags = {
      "--program", "decode",   "--tp", "4",       "--dp", "6",       "--hosts",
      "6",         "--layers", "10",   "--steps", "30",   "--cause", "slow_gpu:rank=3,factor=1.3"};
  const auto run = Simulated(flags, 20261123);
  ChapterLimits limits{0, 2'000, 1};
  limits.sample_rows = 2'000;
  limits.apart = apart;
  limits.rows_of_rank_apart = 100;
  limits.least_rows_apart = 400;
  SerialExecutor serial;
  ThreadPool threads(4);
  EXPECT_EQ(Report(*run, limits, threads), Report(*run, limits, serial));
}

TEST(ChapterThreads, OfAllRanksChangeNoByte) { ExpectSameOnThreads(false); }

TEST(ChapterThreads, OfRanksApartChangeNoByte) { ExpectSameOnThreads(true); }

}  // namespace
}  // namespace lockstep
