#include "bench/simulator/cluster/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>

#include "bench/simulator/engine/simulation.h"
#include "tests/unit/bench/simulator/simulator_fixture.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Spec Of(std::string kind, std::map<std::string, std::string> values) { return {std::move(kind), std::move(values)}; }

SimulatorOptions Moe(std::vector<Spec> causes) {
  return {.program = ProgramKind::kMoe,
          .tp = 2,
          .dp = 4,
          .ep = 4,
          .hosts = 2,
          .steps = 4,
          .layers = 3,
          .seed = 3,
          .causes = std::move(causes)};
}
SimulatorOptions CausedPipeline(std::vector<Spec> causes) {
  return {.program = ProgramKind::kPipeline,
          .tp = 2,
          .pp = 4,
          .hosts = 2,
          .steps = 4,
          .layers = 8,
          .seed = 3,
          .causes = std::move(causes)};
}

TEST(Causes, EveryKindCostsTimeAndIsUndoneByLeavingItOut) {
  const std::vector<SimulatorOptions> runs = {
      SmallDecode({Of("slow_gpu", {{"rank", "2"}, {"factor", "1.3"}})}),
      SmallDecode({Of("slow_kernel", {{"rank", "2"}, {"factor", "4"}})}),
      SmallDecode({Of("more_work", {{"rank", "2"}, {"factor", "1.5"}})}),
      SmallDecode({Of("late_host", {{"rank", "2"}, {"p", "0.2"}})}),
      SmallDecode({Of("periodic_pause", {{"rank", "2"}, {"every", "3"}, {"ms", "5"}})}),
      SmallDecode({Of("data_stall", {{"rank", "2"}, {"p", "0.5"}, {"ms", "5"}})}),
      SmallDecode({Of("transient", {{"rank", "2"}, {"from", "4"}, {"to", "8"}, {"factor", "2"}})}),
      SmallDecode({Of("host_bound", {})}),
      SmallDecode({Of("slow_launch", {})}),
      SmallDecode({Of("long_attention", {})}),
      SmallDecode({Of("kernel_tail", {{"kernel", "nvjet"}, {"p", "0.3"}})}),
      SmallDecode({Of("outlier", {})}),
      SmallDecode({Of("slow_transfer", {})}),
      SmallDecode({Of("jitter", {{"sigma", "0.4"}})}),
      SmallDecode({Of("memory_bound", {})}),
      Moe({Of("slow_rail", {{"rail", "1"}, {"factor", "5"}})}),
      Moe({Of("expert_imbalance", {{"skew", "1.5"}})}),
      CausedPipeline({Of("stage_imbalance", {{"stage", "2"}, {"factor", "1.6"}})}),
  };
  for (const SimulatorOptions& options : runs) {
    const CausedRun run(options);
    SimulatorOptions none = options;
    none.causes.clear();
    const int64_t with = MeanStepNs(run.Simulated());
    const int64_t without = MeanStepNs(run.Simulated(0));
    EXPECT_GT(with, without * 1005 / 1000) << options.causes.front().kind;
    EXPECT_EQ(without, MeanStepNs(CausedRun(none).Simulated())) << options.causes.front().kind;
  }
}

TEST(Causes, TwoAtOnceShiftNoneOfEachOthersNumbers) {
  const Spec late = Of("late_host", {{"rank", "1"}});
  const Spec stall = Of("data_stall", {{"rank", "1"}, {"p", "0.5"}});
  const CausedRun both(SmallDecode({late, stall}));
  EXPECT_EQ(MeanStepNs(both.Simulated(0)), MeanStepNs(CausedRun(SmallDecode({stall})).Simulated()));
  EXPECT_EQ(MeanStepNs(both.Simulated(1)), MeanStepNs(CausedRun(SmallDecode({late})).Simulated()));
}

TEST(Causes, ASlowKernelStretchesThatKernelOnly) {
  const CausedRun run(SmallDecode({Of("slow_kernel", {{"rank", "3"}, {"factor", "2"}})}));
  const std::vector<uint32_t> hit = KernelsHit(run.causes.front(), *run.program, run.rng);
  ASSERT_EQ(hit.size(), 1U);
  const auto with = run.Simulated();
  const auto without = run.Simulated(0);
  int stretched = 0;
  for (size_t rank = 0; rank < with.size(); ++rank) {
    for (size_t i = 0; i < with[rank].activities.size(); ++i) {
      const Activity& slow = with[rank].activities[i];
      const Activity& usual = without[rank].activities[i];
      const Op& op = run.OpOf(rank, slow);
      if (op.kind != OpKind::kKernel) continue;
      const bool strikes = rank == 3 && op.kernel == hit.front();
      stretched += strikes ? 1 : 0;
      EXPECT_NEAR(static_cast<double>(slow.end_ns - slow.start_ns),
                  (strikes ? 2.0 : 1.0) * static_cast<double>(usual.end_ns - usual.start_ns), 100);
    }
  }
  EXPECT_GE(stretched, run.options.steps);
}

TEST(Causes, AKernelIsGivenByAPartOfItsName) {
  const CausedRun plain(SmallDecode({}));
  const std::string name = plain.program->kernels()[plain.program->StepOf(0, 0).ops.front().kernel].name;
  const CausedRun run(SmallDecode({Of("slow_kernel", {{"rank", "3"}, {"kernel", name.substr(0, name.size() - 1)}})}));
  const std::vector<uint32_t> hit = KernelsHit(run.causes.front(), *run.program, run.rng);
  ASSERT_FALSE(hit.empty());
  for (const uint32_t kernel : hit) {
    EXPECT_THAT(run.program->kernels()[kernel].name, HasSubstr(name.substr(0, name.size() - 1)));
  }
}

// Of one rank's instances of a kernel, by length against what they would be without the cause.
std::vector<double> Stretches(const CausedRun& run, size_t rank, uint32_t kernel) {
  std::vector<double> stretches;
  const auto with = run.Simulated();
  const auto without = run.Simulated(0);
  for (size_t i = 0; i < with[rank].activities.size(); ++i) {
    const Activity& a = with[rank].activities[i];
    const Activity& b = without[rank].activities[i];
    if (run.OpOf(rank, a).kind != OpKind::kKernel || run.OpOf(rank, a).kernel != kernel) continue;
    stretches.push_back(static_cast<double>(a.end_ns - a.start_ns) / static_cast<double>(b.end_ns - b.start_ns));
  }
  return stretches;
}

TEST(Causes, ATailIsAShareOfTheInstancesOfOneKernelAlikeOnAllRanks) {
  SimulatorOptions options = SmallDecode({Of("kernel_tail", {{"p", "0.2"}, {"factor", "1.8"}})});
  options.steps = 100;
  const CausedRun run(options);
  const uint32_t kernel = KernelsHit(run.causes.front(), *run.program, run.rng).front();
  const std::vector<double> of_first = Stretches(run, 0, kernel);
  const auto large = std::count_if(of_first.begin(), of_first.end(), [](double s) { return s > 1.7; });
  EXPECT_NEAR(static_cast<double>(large), 0.2 * static_cast<double>(of_first.size()),
              4 * std::sqrt(0.2 * static_cast<double>(of_first.size())));
  const std::vector<double> of_last = Stretches(run, 7, kernel);
  for (size_t i = 0; i < of_first.size(); ++i) EXPECT_EQ(of_first[i] > 1.7, of_last[i] > 1.7);
}

TEST(Causes, OutliersAreAsManyAsAskedFor) {
  const CausedRun run(SmallDecode({Of("outlier", {{"count", "4"}, {"factor", "50"}})}));
  const uint32_t kernel = KernelsHit(run.causes.front(), *run.program, run.rng).front();
  int64_t long_ones = 0;
  for (size_t rank = 0; rank < 8; ++rank) {
    const std::vector<double> stretches = Stretches(run, rank, kernel);
    long_ones += std::count_if(stretches.begin(), stretches.end(), [](double s) { return s > 40; });
  }
  EXPECT_EQ(long_ones, 4);
}

TEST(Causes, LongAttentionStretchesAttentionOnly) {
  const CausedRun run(SmallDecode({Of("long_attention", {{"factor", "3"}})}));
  const CauseEffects effects = run.Effects();
  const std::vector<KernelShape>& kernels = run.program->kernels();
  int attention = 0;
  for (uint32_t kernel = 0; kernel < kernels.size(); ++kernel) {
    const bool is_attention = kernels[kernel].short_name.starts_with("flash_fwd");
    attention += is_attention ? 1 : 0;
    EXPECT_DOUBLE_EQ(effects.KernelFactor(1, 0, kernel), is_attention ? 3 : 1) << kernels[kernel].name;
  }
  EXPECT_EQ(attention, 1);
}

TEST(Causes, ScatterIsCommonToTheKernelsBetweenTwoCollectivesAndBounded) {
  const CausedRun run(SmallDecode({Of("jitter", {{"sigma", "0.2"}})}));
  const CauseEffects effects = run.Effects();
  double sum = 0;
  double squares = 0;
  constexpr uint32_t kSegments = 4000;
  for (uint32_t segment = 0; segment < kSegments; ++segment) {
    const double factor = effects.InstanceFactor({.rank = 2, .step = 1, .draw = 5, .segment = segment}, 0);
    EXPECT_EQ(factor, effects.InstanceFactor({.rank = 2, .step = 1, .draw = 9, .segment = segment}, 3));
    EXPECT_NEAR(factor, 1, 0.2 * 1.7321);
    sum += factor - 1;
    squares += (factor - 1) * (factor - 1);
  }
  EXPECT_NEAR(sum / kSegments, 0, 0.015);
  EXPECT_NEAR(std::sqrt(squares / kSegments), 0.2, 0.01);
}

TEST(Causes, ASlowLaunchMakesTheCallsLonger) {
  const CausedRun run(SmallDecode({Of("slow_launch", {{"us", "12"}, {"rank", "3"}})}));
  const auto with = run.Simulated();
  for (const size_t rank : {2U, 3U}) {
    for (const Activity& activity : with[rank].activities) {
      if (run.OpOf(rank, activity).kind != OpKind::kKernel) continue;
      EXPECT_EQ(activity.call_end_ns - activity.call_start_ns > 12'000, rank == 3);
    }
  }
}

TEST(Causes, WhatStrikesAllRanksHasNoPlaceUnlessARankIsGiven) {
  const CausedRun all(SmallDecode({Of("host_bound", {})}));
  EXPECT_EQ(all.causes.front().scope, "all");
  EXPECT_EQ(all.causes.front().ranks.size(), 8U);
  EXPECT_FALSE(all.causes.front().parameters.contains("all"));
  const CausedRun one(SmallDecode({Of("host_bound", {{"rank", "3"}})}));
  EXPECT_EQ(one.causes.front().scope, "rank");
  EXPECT_THAT(one.causes.front().ranks, ElementsAre(3));
}

TEST(Causes, ATransientStrikesItsStepsOnly) {
  const CausedRun run(SmallDecode({Of("transient", {{"rank", "1"}, {"from", "3"}, {"to", "5"}, {"factor", "2"}})}));
  const CauseEffects effects = run.Effects();
  for (const auto& [step, factor] : {std::pair{2, 1.0}, {3, 2.0}, {4, 2.0}, {5, 1.0}}) {
    EXPECT_DOUBLE_EQ(effects.KernelFactor(1, step, 0), factor) << step;
    EXPECT_DOUBLE_EQ(effects.KernelFactor(0, step, 0), 1) << step;
  }
}

TEST(Causes, APauseComesEveryNthStep) {
  const CausedRun run(SmallDecode({Of("periodic_pause", {{"rank", "1"}, {"every", "4"}, {"ms", "2"}})}));
  const CauseEffects effects = run.Effects();
  int pauses = 0;
  for (int64_t step = 0; step < 40; ++step) {
    const int64_t delay = effects.StepDelay(1, step);
    EXPECT_TRUE(delay == 0 || delay == 2'000'000);
    EXPECT_EQ(delay, effects.StepDelay(1, step + 4));
    EXPECT_EQ(effects.StepDelay(0, step), 0);
    pauses += delay > 0 ? 1 : 0;
  }
  EXPECT_EQ(pauses, 10);
}

TEST(Causes, StallsComeAtTheirRate) {
  const CausedRun run(SmallDecode({Of("data_stall", {{"rank", "1"}, {"p", "0.2"}, {"ms", "1"}})}));
  const CauseEffects effects = run.Effects();
  int stalls = 0;
  for (int64_t step = 0; step < 4000; ++step) stalls += effects.StepDelay(1, step) > 0 ? 1 : 0;
  EXPECT_NEAR(stalls, 800, 110);
}

TEST(Causes, ARailIsALocalIndexOfEveryHost) {
  const CausedRun run(Moe({Of("slow_rail", {{"rail", "1"}, {"factor", "3"}})}));
  EXPECT_THAT(run.causes.front().ranks, ElementsAre(1, 5));
  EXPECT_EQ(run.causes.front().scope, "rail");
  EXPECT_DOUBLE_EQ(run.Effects().RailFactor(1), 3);
  EXPECT_DOUBLE_EQ(run.Effects().RailFactor(0), 1);
}

TEST(Causes, AStageIsAllItsRanks) {
  const CausedRun run(CausedPipeline({Of("stage_imbalance", {{"stage", "1"}})}));
  EXPECT_THAT(run.causes.front().ranks, ElementsAre(2, 3));
  EXPECT_EQ(run.causes.front().scope, "stage");
}

TEST(Causes, UnevenExpertsLeaveTheSumOfTokens) {
  const CausedRun run(Moe({Of("expert_imbalance", {{"skew", "0.9"}})}));
  const CauseEffects effects = run.Effects();
  double sum = 0;
  std::set<double> factors;
  for (int32_t rank = 0; rank < run.cluster.world(); ++rank) {
    sum += effects.ExpertFactor(rank, 0);
    factors.insert(effects.ExpertFactor(rank, 0));
  }
  EXPECT_NEAR(sum, run.cluster.world(), 1e-9);
  EXPECT_EQ(factors.size(), 2U);
  EXPECT_DOUBLE_EQ(*factors.rbegin(), 1.9);
}

TEST(Causes, NoneIsNoCause) { EXPECT_TRUE(CausedRun(SmallDecode({Of("none", {})})).causes.empty()); }

TEST(Causes, WhatCannotBePlacedIsNamedWithItsRange) {
  const CausedRun run(SmallDecode({}));
  const auto says = [&](const Spec& spec) {
    return std::string(PlaceCauses({spec}, run.cluster, run.rng).status().message());
  };
  EXPECT_THAT(says(Of("slow_gpu", {{"rank", "8"}})), HasSubstr("rank=8 must be an integer from 0 to 7"));
  EXPECT_THAT(says(Of("data_stall", {{"p", "1.5"}})), HasSubstr("p=1.5 must be a number from 0 to 1"));
  EXPECT_THAT(says(Of("late_host", {{"rank", "1"}, {"host", "0"}})), HasSubstr("give rank or host, not both"));
  const CausedRun experts(Moe({}));
  EXPECT_THAT(
      std::string(
          PlaceCauses({Of("expert_imbalance", {{"skew", "4"}})}, experts.cluster, experts.rng).status().message()),
      HasSubstr("skew=4 must be a number from 0 to 3"));
}

TEST(Causes, WhatNeedsSeveralStagesExpertsOrHostsSaysSo) {
  const CausedRun run(SmallDecode({}));
  for (const auto& [kind, flag] :
       {std::pair{"stage_imbalance", "--pp"}, {"expert_imbalance", "--ep"}, {"slow_rail", "--hosts"}}) {
    const absl::Status status = PlaceCauses({Of(kind, {})}, run.cluster, run.rng).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(flag)) << kind;
  }
}

TEST(Causes, CategoriesAreTheAnalysisWords) {
  EXPECT_EQ(CategoryOf(InjectedKind::kSlowGpu), "slow_device");
  EXPECT_EQ(CategoryOf(InjectedKind::kPeriodicPause), "host_pause");
  EXPECT_EQ(CategoryOf(InjectedKind::kSlowRail), "transfer");
}

TEST(Causes, WhatSlowsOneRankAloneLeadsToAStraggler) {
  const auto finding = [](const std::string& kind, const std::map<std::string, std::string>& values) {
    return std::string(FindingOf(CausedRun(SmallDecode({Of(kind, values)})).causes.front()));
  };
  EXPECT_EQ(finding("sync", {}), "sync_in_step");
  EXPECT_EQ(finding("sync", {{"rank", "3"}}), "persistent_straggler");
  EXPECT_EQ(finding("late_host", {{"rank", "3"}}), "persistent_straggler");
  EXPECT_EQ(finding("slow_gpu", {{"rank", "3"}}), "slow_device");
}

}  // namespace
}  // namespace lockstep
