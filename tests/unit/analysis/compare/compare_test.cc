#include "analysis/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "analysis/compare/ledger.h"
#include "analysis/compare/metrics.h"
#include "analysis/compare/render/render.h"
#include "tests/support/compare/random_run.h"

namespace lockstep::compare {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Sides SidesOf(const RunPlan& base, const RunPlan& fresh, uint32_t seed, size_t repeats = 1) {
  Sides sides;
  for (uint32_t i = 0; i < repeats; ++i) {
    sides.base.push_back(RandomRun(base, seed + 2 * i));
    sides.fresh.push_back(RandomRun(fresh, seed + 2 * i + 1));
  }
  return sides;
}

report::ComparisonDocument Compared(const Sides& sides, const CompareRequest& request = {}) {
  return Compare(sides, request).value();
}

report::MetricChange Metric(const report::ComparisonDocument& document, std::string_view name) {
  for (const report::MetricChange& metric : document.metrics) {
    if (metric.metric == name) return metric;
  }
  ADD_FAILURE() << "no metric " << name;
  return document.metrics.front();
}

double MeanStep(const ComparedRun& run) {
  const std::vector<double> times = StepTimes(run);
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

RunPlan RandomPlan(std::mt19937& random) {
  const auto draw = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); };
  RunPlan plan;
  plan.ranks = static_cast<int32_t>(draw(1, 9));
  plan.steps = static_cast<int64_t>(draw(30, 120));
  plan.wait_ns = draw(0, 50'000);
  plan.transfer_ns = draw(0, 50'000);
  plan.noise = draw(0.001, 0.05);
  for (KernelPlan& kernel : plan.kernels) kernel.ns = draw(1'000, 100'000);
  plan.late_rank = static_cast<int32_t>(draw(-1, plan.ranks));
  return plan;
}

TEST(Compare, ARunWithItselfHasNoDifferenceAtAll) {
  std::mt19937 random(20261127);
  for (int i = 0; i < 30; ++i) {
    const RunPlan plan = RandomPlan(random);
    Sides sides;
    sides.base.push_back(RandomRun(plan, 5));
    sides.fresh.push_back(RandomRun(plan, 5));
    const report::ComparisonDocument document = Compared(sides);
    EXPECT_EQ(document.headline.verdict, report::kSameWord) << document.headline.sentence;
    for (const report::MetricChange& metric : document.metrics) EXPECT_EQ(metric.change, 0) << metric.metric;
    for (const report::LedgerEntry& entry : document.ledger) EXPECT_EQ(entry.change_ns_per_step, 0) << entry.part;
    for (const report::KernelChange& kernel : document.kernels) EXPECT_EQ(kernel.change_ns_per_step, 0);
    EXPECT_TRUE(document.comparable.differences.empty());
    EXPECT_EQ(RenderJson(document), RenderJson(Compared(sides)));
  }
}

TEST(Compare, TheLedgerSumsToTheMeanStepOfBothSidesExactly) {
  std::mt19937 random(20261128);
  for (uint32_t i = 0; i < 100; ++i) {
    RunPlan base = RandomPlan(random);
    RunPlan fresh = RandomPlan(random);
    fresh.ranks = base.ranks;
    const size_t repeats = 1 + i % 3;
    const Sides sides = SidesOf(base, fresh, 100 * i, repeats);
    const std::vector<report::LedgerEntry> ledger = LedgerOf(sides);
    int64_t base_sum = 0;
    int64_t fresh_sum = 0;
    int64_t change = 0;
    for (const report::LedgerEntry& entry : ledger) {
      base_sum += entry.base_ns_per_step;
      fresh_sum += entry.new_ns_per_step;
      change += entry.change_ns_per_step;
    }
    EXPECT_NEAR(static_cast<double>(base_sum), MeanOver(sides.base, MeanStep), 0.5001);
    EXPECT_NEAR(static_cast<double>(fresh_sum), MeanOver(sides.fresh, MeanStep), 0.5001);
    EXPECT_EQ(change, fresh_sum - base_sum);
  }
}

TEST(Compare, SwappedSidesAreMirrored) {
  std::mt19937 random(20261129);
  for (uint32_t i = 0; i < 30; ++i) {
    const RunPlan base = RandomPlan(random);
    RunPlan fresh = base;
    fresh.kernels[0].ns *= 1.3;
    Sides sides = SidesOf(base, fresh, 10 * i);
    const report::ComparisonDocument there = Compared(sides);
    std::swap(sides.base, sides.fresh);
    const report::ComparisonDocument back = Compared(sides);
    const auto mirrored = [](std::string_view verdict) {
      if (verdict == report::kSlowerWord) return report::kFasterWord;
      return verdict == report::kFasterWord ? report::kSlowerWord : verdict;
    };
    for (size_t m = 0; m < there.metrics.size(); ++m) {
      EXPECT_EQ(back.metrics[m].verdict, mirrored(there.metrics[m].verdict)) << there.metrics[m].metric;
      EXPECT_DOUBLE_EQ(*back.metrics[m].change, -*there.metrics[m].change);
    }
  }
}

TEST(Compare, AKernelThatGotSlowerIsNamedAndNothingElse) {
  std::mt19937 random(20261130);
  int named = 0;
  for (uint32_t i = 0; i < 50; ++i) {
    RunPlan base = RandomPlan(random);
    base.noise = 0.005;
    base.kernels[0].ns = 50'000;
    RunPlan fresh = base;
    fresh.kernels[0].ns *= 1.25;
    const report::ComparisonDocument document = Compared(SidesOf(base, fresh, 1'000 + 10 * i));
    ASSERT_EQ(document.kernels.size(), 2U);
    const report::KernelChange& first = document.kernels.front();
    const bool right = first.fresh->names.front() == base.kernels[0].name && first.verdict == report::kSlowerWord &&
                       document.kernels[1].verdict == report::kSameWord;
    named += right ? 1 : 0;
    EXPECT_EQ(document.ledger.front().part, "compute:gemm");
  }
  EXPECT_GE(named, 48);
}

TEST(Compare, WaitingIsToldByWhoCausedIt) {
  RunPlan base;
  RunPlan fresh;
  fresh.late_rank = 2;
  fresh.wait_ns = 30'000;
  const report::ComparisonDocument document = Compared(SidesOf(base, fresh, 3));
  ASSERT_EQ(document.late.size(), 1U);
  EXPECT_EQ(document.late[0].change, "appeared");
  EXPECT_EQ(document.ledger[0].label, "waiting for rank 2");
  EXPECT_EQ(document.ledger[0].rank, 2);
  EXPECT_EQ(document.ledger[0].kind, "wait");
  EXPECT_THAT(document.headline.details.front(), HasSubstr("waiting for rank 2: +"));
}

TEST(Compare, WorkThatWasSavedAndCameBackAsWaitingIsSaid) {
  RunPlan base;
  base.kernels[0].ns = 60'000;
  RunPlan fresh = base;
  fresh.kernels[0].ns = 30'000;
  fresh.late_rank = 1;
  fresh.wait_ns = 40'000;
  const report::ComparisonDocument document = Compared(SidesOf(base, fresh, 4));
  std::string all;
  for (const std::string& detail : document.headline.details) all += detail + "\n";
  EXPECT_THAT(all, HasSubstr("gemm kernels: -"));
  EXPECT_THAT(all, HasSubstr("came back as waiting for rank 1"));
}

std::string DetailsOf(const report::ComparisonDocument& document) {
  std::string all;
  for (const std::string& detail : document.headline.details) all += detail + "\n";
  return all;
}

TEST(Compare, TheHeadlineHasNoDetailsOfAnUnchangedStep) {
  std::mt19937 random(20261134);
  for (uint32_t i = 0; i < 40; ++i) {
    RunPlan base = RandomPlan(random);
    base.noise = 0.02;
    RunPlan other = base;
    other.late_rank = -1;  // it moves all waiting between entries that have no interval
    const report::ComparisonDocument document = Compared(SidesOf(base, other, 500 + 2 * i));
    if (document.headline.verdict != report::kSameWord) continue;
    EXPECT_THAT(DetailsOf(document), testing::Not(HasSubstr("waiting for nobody"))) << i;
  }
}

// Half a percent of the step is the least that is worth a sentence, and a quarter of it the least that moved.
TEST(Compare, TheHeadlineLeavesOutWhatIsSmall) {
  RunPlan base;
  base.noise = 0.0002;
  base.kernels = {{"gemm_kernel", "gemm", "compute", 900'000}, {"flash", "attention", "compute", 90'000}};
  RunPlan fresh = base;
  fresh.kernels[0].ns *= 0.9;
  fresh.kernels[1].ns += 3'000;  // 0.3 % of the step
  fresh.wait_ns += 20'000;       // less than a quarter of what was saved
  const std::string details = DetailsOf(Compared(SidesOf(base, fresh, 41)));
  EXPECT_THAT(details, HasSubstr("gemm kernels: -90"));
  EXPECT_THAT(details, testing::Not(HasSubstr("attention")));
  EXPECT_THAT(details, testing::Not(HasSubstr("came back")));
}

TEST(Compare, AWaitIsSaidToHaveMovedOnlyOnce) {
  RunPlan base;
  base.noise = 0.0005;
  base.kernels = {{"gemm_kernel", "gemm", "compute", 100'000}, {"flash", "attention", "compute", 100'000}};
  RunPlan fresh = base;
  for (KernelPlan& kernel : fresh.kernels) kernel.ns *= 0.8;
  fresh.wait_ns += 20'000;
  const std::string details = DetailsOf(Compared(SidesOf(base, fresh, 42)));
  const size_t first = details.find("came back");
  EXPECT_NE(first, std::string::npos) << details;
  EXPECT_EQ(details.find("came back", first + 1), std::string::npos) << details;
}

TEST(Compare, AnotherRankThatIsWaitedForIsSaidOfAnUnchangedStepToo) {
  RunPlan base;
  base.noise = 0.0005;
  base.late_rank = 1;
  base.wait_ns = 40'000;
  RunPlan fresh = base;
  fresh.late_rank = 2;
  const report::ComparisonDocument document = Compared(SidesOf(base, fresh, 43, 3));
  EXPECT_EQ(document.headline.verdict, report::kSameWord);
  EXPECT_THAT(DetailsOf(document),
              testing::AllOf(HasSubstr("waiting for rank 2: +"), HasSubstr("waiting for rank 1: -")));
}

// Waiting that another rank is now blamed for was no reserve that the new work used up.
TEST(Compare, WorkThatWasAddedIsNotSaidToHaveBeenWaitingWhereWaitingGrew) {
  RunPlan base;
  base.noise = 0.0005;
  base.wait_ns = 20'000;
  RunPlan fresh = base;
  fresh.kernels[0].ns += 20'000;
  fresh.late_rank = 1;
  fresh.wait_ns = 60'000;
  EXPECT_THAT(DetailsOf(Compared(SidesOf(base, fresh, 44))), testing::Not(HasSubstr("was there before")));
}

TEST(Compare, ThroughputOfRunsThatProcessOtherAmountsHasNoVerdict) {
  RunPlan plan;
  plan.context = {{"tokens_per_step", "4096"}};
  Sides sides = SidesOf(plan, plan, 13, 2);
  sides.fresh[1].context["tokens_per_step"] = "2048";
  const report::MetricChange throughput = Metric(Compared(sides), "throughput");
  EXPECT_EQ(throughput.verdict, report::kUnclearWord);
  EXPECT_FALSE(throughput.interval);
}

TEST(Compare, WhatOneSideCannotShowIsNoGain) {
  EXPECT_TRUE(HidesMuch(-20'000, 1e6));
  EXPECT_FALSE(HidesMuch(5'000, 1e6));
  EXPECT_TRUE(MovedInto(-30'000, 20'000));
  EXPECT_FALSE(MovedInto(-30'000, 10'000));
  EXPECT_FALSE(MovedInto(30'000, 30'000)) << "both grew";
  EXPECT_FALSE(MovedInto(0, 30'000));
}

TEST(Compare, SidesWithFewKernelsInCommonAreComparedInPart) {
  RunPlan base;
  RunPlan fresh;
  fresh.kernels = {{"flash_fwd_kernel", "attention"}, {"entirely_new_kernel", "other", "compute", 50'000}};
  const report::ComparisonDocument document = Compared(SidesOf(base, fresh, 43));
  EXPECT_EQ(document.comparable.verdict, "partly");
  EXPECT_THAT(document.comparable.reasons.front(), HasSubstr("they may be different programs"));
}

TEST(Compare, StepsThatSomeRanksLackAreMentionedWhereTheyAreMany) {
  RunPlan plan;
  Sides sides = SidesOf(plan, plan, 44);
  sides.fresh[0].profile.partial_steps = 5;
  EXPECT_TRUE(Compared(sides).notices.empty());
  sides.fresh[0].profile.partial_steps = 7;  // of 60
  EXPECT_THAT(Compared(sides).notices, ElementsAre(HasSubstr("7 steps are left out")));
}

TEST(Compare, FewStepsAreNoVerdict) {
  RunPlan plan;
  plan.steps = 5;
  const report::ComparisonDocument document = Compared(SidesOf(plan, plan, 6));
  EXPECT_EQ(document.headline.verdict, report::kNotEnoughWord);
  EXPECT_THAT(document.headline.sentence, HasSubstr("Not enough steps"));
}

TEST(Compare, ARunWithoutStepsIsNotComparable) {
  RunPlan none;
  none.steps = 0;
  const report::ComparisonDocument document = Compared(SidesOf(none, {}, 7));
  EXPECT_EQ(document.comparable.verdict, "no");
  EXPECT_THAT(document.headline.sentence, HasSubstr("cannot be compared: the base side has a run without steps"));
  EXPECT_TRUE(document.ledger.empty());
}

TEST(Compare, OtherNumbersOfRanksAreNotPaired) {
  RunPlan base;
  RunPlan fresh;
  fresh.ranks = 8;
  const report::ComparisonDocument document = Compared(SidesOf(base, fresh, 8));
  EXPECT_EQ(document.comparable.verdict, "partly");
  EXPECT_THAT(document.comparable.reasons,
              ElementsAre(HasSubstr("not comparable rank by rank: the sides have 4 and 8 ranks")));
  EXPECT_EQ(document.ranks.by, "none");
  EXPECT_EQ(document.ranks.scaling, "weak");
  EXPECT_NEAR(*document.ranks.efficiency, 1, 0.05);
}

TEST(Compare, StrongScalingIsRecognisedByItsWork) {
  RunPlan base;
  RunPlan fresh;
  fresh.ranks = 8;
  for (KernelPlan& kernel : fresh.kernels) kernel.ns /= 2;
  const report::ComparisonDocument document = Compared(SidesOf(base, fresh, 9));
  EXPECT_EQ(document.ranks.scaling, "strong");
  EXPECT_LT(*document.ranks.efficiency, 0.8) << "waiting, transfer and idle time did not shrink";
}

TEST(Compare, RanksOnTheSameGpusArePairedByThem) {
  RunPlan plan;
  Sides sides = SidesOf(plan, plan, 10);
  std::reverse(sides.fresh[0].profile.by_rank.begin(), sides.fresh[0].profile.by_rank.end());
  const report::ComparisonDocument document = Compared(sides);
  EXPECT_EQ(document.ranks.by, "gpu");
  ASSERT_EQ(document.ranks.ranks.size(), 4U);
  for (const report::RankChange& pair : document.ranks.ranks) EXPECT_EQ(pair.base.gpu_uuid, pair.fresh.gpu_uuid);
}

// Puts the ranks of a run on hosts of `on_host` each, and makes those of one host compute longer.
void PutOnHosts(ComparedRun& run, size_t on_host, const std::string& slow_host, double factor) {
  for (size_t i = 0; i < run.profile.by_rank.size(); ++i) {
    report::ProfileRank& rank = run.profile.by_rank[i];
    rank.host = "node" + std::to_string(i / on_host);
    if (rank.host != slow_host) continue;
    rank.compute_ns = static_cast<int64_t>(static_cast<double>(rank.compute_ns.value) * factor);
  }
}

TEST(Compare, AHostThatBecameWorseStandsFirstWhateverTheCodeDid) {
  std::mt19937 random(20261128);
  for (int i = 0; i < 40; ++i) {
    const auto draw = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(random);
    };
    RunPlan base;
    const auto on_host = static_cast<size_t>(draw(1, 5));
    const auto hosts = static_cast<int32_t>(draw(2, 6));
    base.ranks = static_cast<int32_t>(on_host) * hosts;
    RunPlan fresh = base;
    const double of_all = draw(0.7, 1.4);
    for (KernelPlan& kernel : fresh.kernels) kernel.ns *= of_all;
    Sides sides = SidesOf(base, fresh, static_cast<uint32_t>(random()));
    const std::string worse = "node" + std::to_string(static_cast<int>(draw(0, hosts)));
    PutOnHosts(sides.base[0], on_host, worse, 1);
    PutOnHosts(sides.fresh[0], on_host, worse, 1.1);
    const report::ComparisonDocument document = Compared(sides);
    ASSERT_EQ(document.hosts.size(), static_cast<size_t>(hosts));
    EXPECT_EQ(document.hosts.front().host, worse);
    EXPECT_EQ(document.hosts.front().base_hosts, std::vector<std::string>{worse});
    EXPECT_EQ(document.hosts.front().ranks.value, static_cast<int64_t>(on_host));
    EXPECT_NEAR(document.hosts.front().against_others_ratio.value(), 0.1, 0.02);
    for (size_t h = 1; h < document.hosts.size(); ++h) {
      EXPECT_LT(document.hosts[h].against_others_ratio.value(), 0.02) << "an innocent host";
    }
  }
}

TEST(Compare, OneHostHasNoOthersBesideIt) {
  const report::ComparisonDocument document = Compared(SidesOf({}, {}, 31));
  ASSERT_EQ(document.hosts.size(), 1U);
  EXPECT_EQ(document.hosts.front().against_others_ratio, std::nullopt);
}

TEST(Compare, HostsOfUnpairedRanksAreNotCompared) {
  RunPlan fresh;
  fresh.ranks = 8;
  EXPECT_TRUE(Compared(SidesOf({}, fresh, 32)).hosts.empty());
}

TEST(Compare, RolesSumToTheKernelTimeOfEachSide) {
  std::mt19937 random(20261129);
  for (int i = 0; i < 20; ++i) {
    RunPlan plan = RandomPlan(random);
    plan.kernels.push_back({"vllm::rms_norm_kernel<c10::BFloat16>", "norm"});
    plan.kernels.push_back({"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "communication", "communication"});
    const Sides sides = SidesOf(plan, plan, static_cast<uint32_t>(random()));
    double roles = 0;
    double kernels = 0;
    const report::ComparisonDocument document = Compared(sides);
    for (const report::RoleChange& role : document.roles) roles += role.new_ns_per_step;
    for (const ComparedKernel& kernel : sides.fresh[0].kernels) kernels += kernel.ns_per_step;
    EXPECT_NEAR(roles, kernels, 1e-6 * kernels);
  }
}

// Twice the tokens in a step that takes 1.5 times as long: slower a step, and faster a token.
TEST(Compare, RolesAreComparedByTokenWhereBothSidesTellTokens) {
  RunPlan base;
  base.context = {{"tokens_per_step", "1000"}};
  base.noise = 0;
  RunPlan fresh = base;
  fresh.context = {{"tokens_per_step", "2000"}};
  for (KernelPlan& kernel : fresh.kernels) kernel.ns *= 1.5;
  for (const report::RoleChange& role : Compared(SidesOf(base, fresh, 33)).roles) {
    EXPECT_NEAR(role.change_ratio.value(), 0.5, 1e-3) << role.role;
    EXPECT_NEAR(role.base_ns_per_token.value(), role.base_ns_per_step / 1000, 1e-9);
    EXPECT_NEAR(role.per_token_change_ratio.value(), -0.25, 1e-3) << role.role;
  }
  fresh.context.clear();
  for (const report::RoleChange& role : Compared(SidesOf(base, fresh, 34)).roles) {
    EXPECT_TRUE(role.base_ns_per_token);
    EXPECT_FALSE(role.new_ns_per_token || role.per_token_change_ratio) << role.role;
  }
}

TEST(Compare, ContextThatDiffersIsListed) {
  RunPlan base;
  base.context = {{"batch", "8"}, {"model", "a"}};
  RunPlan fresh;
  fresh.context = {{"batch", "16"}, {"model", "a"}, {"seqlen", "4096"}};
  const report::ComparisonDocument document = Compared(SidesOf(base, fresh, 11));
  ASSERT_EQ(document.comparable.differences.size(), 2U);
  EXPECT_EQ(document.comparable.differences[0].key, "batch");
  EXPECT_EQ(document.comparable.differences[0].base, "8");
  EXPECT_EQ(document.comparable.differences[0].fresh, "16");
  EXPECT_EQ(document.comparable.differences[1].base, std::nullopt);
  EXPECT_EQ(document.comparable.verdict, "yes");
}

TEST(Compare, ThroughputIsThatOfTheStepsWhereTheContextSaysWhatTheyProcess) {
  RunPlan plan;
  plan.context = {{"tokens_per_step", "4096"}};
  const Sides sides = SidesOf(plan, plan, 12);
  const report::MetricChange throughput = Metric(Compared(sides), "throughput");
  EXPECT_NEAR(*throughput.base, 4096 / (MeanStep(sides.base[0]) * 1e-9), 1);
  EXPECT_EQ(throughput.unit, "tokens/s");
}

TEST(Compare, OtherRunsOfTheContextShowTheNoise) {
  std::mt19937 random(20261132);
  std::normal_distribution<double> effect(1, 0.002);
  const auto drawn = [&](uint32_t seed) {
    RunPlan plan;
    const double factor = effect(random);
    for (KernelPlan& kernel : plan.kernels) kernel.ns *= factor;
    return RandomRun(plan, seed);
  };
  Sides sides;
  sides.base.push_back(drawn(1));
  sides.fresh.push_back(drawn(2));
  const double assumed = *Compared(sides).noise.ratio;
  for (uint32_t i = 0; i < 8; ++i) sides.earlier.push_back(drawn(10 + i));
  const report::ComparisonDocument document = Compared(sides);
  EXPECT_EQ(document.noise.source, "history");
  EXPECT_EQ(document.noise.runs.value, 8);
  EXPECT_LT(*document.noise.ratio, assumed);
  EXPECT_THAT(document.headline.sureness, HasSubstr("8 earlier runs with the same context"));
}

TEST(Compare, ARunGivenTwiceIsNotTwoRepeats) {
  RunPlan plan;
  Sides sides;
  for (int i = 0; i < 3; ++i) {
    sides.base.push_back(RandomRun(plan, 1));
    sides.fresh.push_back(RandomRun(plan, 2));
  }
  const report::ComparisonDocument document = Compared(sides);
  EXPECT_NE(document.noise.source, "repeats");
  EXPECT_THAT(document.notices, testing::Contains(HasSubstr("is given twice; it counts once")));
}

// Also where it has another name, as a copied folder has.
TEST(Compare, ACopyOfARunChangesNothingButANotice) {
  RunPlan plan;
  RunPlan slower;
  for (KernelPlan& kernel : slower.kernels) kernel.ns *= 1.1;
  Sides once;
  once.base = {RandomRun(plan, 1), RandomRun(slower, 2)};
  once.fresh = {RandomRun(slower, 3), RandomRun(plan, 4)};
  Sides copied = once;
  for (int i = 0; i < 3; ++i) copied.base.push_back(copied.base.front());
  copied.base.back().head.name = "copy";
  copied.fresh.push_back(copied.fresh.back());
  report::ComparisonDocument document = Compared(copied);
  EXPECT_THAT(document.notices, testing::Contains("run 'copy' is a copy of run 'run' and does not count"));
  const report::ComparisonDocument expected = Compared(once);
  document.notices = expected.notices;
  EXPECT_EQ(RenderJson(document), RenderJson(expected));
}

TEST(Compare, RoundingKeepsTheSum) {
  std::mt19937 random(20261131);
  std::uniform_real_distribution<double> draw(-1e9, 1e9);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> values(static_cast<size_t>(1 + i % 17));
    for (double& value : values) value = draw(random);
    const std::vector<int64_t> rounded = RoundedTogether(values);
    int64_t sum = 0;
    for (size_t k = 0; k < values.size(); ++k) {
      sum += rounded[k];
      EXPECT_LE(std::abs(static_cast<double>(rounded[k]) - values[k]), 1);
    }
    EXPECT_EQ(sum, std::llround(std::accumulate(values.begin(), values.end(), 0.0)));
  }
  EXPECT_THAT(RoundedTogether({NAN, INFINITY, 1e300}), testing::SizeIs(3));
}

}  // namespace
}  // namespace lockstep::compare
