#include "platform/metrics_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "analysis/base/version.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

TEST(MetricsRegistry, TellsEachFamilyOnceWithHelpTypeAndItsSeriesInOrder) {
  MetricsRegistry registry;
  registry.AddCounter("b_total", "Things.", {{"kind", "y"}}).Add(2);
  registry.AddCounter("b_total", "Things.", {{"kind", "x"}}).Add();
  registry.AddGauge("a_bytes", "Size.", [] { return 1.5; });
  EXPECT_EQ(registry.Text(),
            "# HELP a_bytes Size.\n# TYPE a_bytes gauge\na_bytes 1.5\n"
            "# HELP b_total Things.\n# TYPE b_total counter\nb_total{kind=\"x\"} 1\nb_total{kind=\"y\"} 2\n");
}

TEST(MetricsRegistry, LargeCountsAreExact) {
  MetricsRegistry registry;
  registry.AddCounter("n_total", "N.").Add((int64_t{1} << 53) - 1);
  EXPECT_THAT(registry.Text(), HasSubstr("n_total 9007199254740991\n"));
}

TEST(MetricsRegistry, AHistogramCountsUpToEachBoundAndSumsSeconds) {
  MetricsRegistry registry;
  MetricHistogram& histogram = registry.AddHistogram("t_seconds", "T.", {1'000'000, 1'000'000'000}, {{"op", "put"}});
  for (const int64_t ns : {500'000, 1'000'000, 2'000'000, 2'000'000'000}) histogram.Observe(ns);
  EXPECT_EQ(
      registry.Text(),
      "# HELP t_seconds T.\n# TYPE t_seconds histogram\n"
      "t_seconds_bucket{op=\"put\",le=\"0.001\"} 2\nt_seconds_bucket{op=\"put\",le=\"1\"} 3\n"
      "t_seconds_bucket{op=\"put\",le=\"+Inf\"} 4\nt_seconds_sum{op=\"put\"} 2.0035\nt_seconds_count{op=\"put\"} 4\n");
}

TEST(MetricsRegistry, LabelsAndHelpCannotBreakALine) {
  MetricsRegistry registry;
  registry.AddCounter("x_total", "a\nb\\c", {{"l", "q\"\n\\"}});
  EXPECT_EQ(registry.Text(), "# HELP x_total a\\nb\\\\c\n# TYPE x_total counter\nx_total{l=\"q\\\"\\n\\\\\"} 0\n");
}

TEST(MetricsRegistry, NothingIsLostWhileManyCountAndOneReads) {
  MetricsRegistry registry;
  MetricCounter& counter = registry.AddCounter("c_total", "C.");
  MetricHistogram& histogram = registry.AddHistogram("h_seconds", "H.", LatencyBoundsNs());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) {
        counter.Add();
        histogram.Observe(n * 1'000);
      }
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_THAT(registry.Text(), HasSubstr("h_seconds_count"));
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(registry.Text(), HasSubstr("c_total 40000\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("h_seconds_count 40000\n"));
}

TEST(MetricsRegistry, TheProcessTellsItsMemoryAndVersion) {
  MetricsRegistry registry;
  AddProcessMetrics(registry);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("lockstep_build_info{version=\"" + std::string(Version()) + "\"} 1\n"));
  const size_t at = text.find("\nprocess_resident_memory_bytes ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(text.substr(at + 31, 1), testing::MatchesRegex("[1-9]"));
}

}  // namespace
}  // namespace lockstep
