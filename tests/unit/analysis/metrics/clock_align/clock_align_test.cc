#include "analysis/metrics/clock_align/clock_align.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "tests/unit/analysis/metrics/clock_align/clock_world.h"

namespace lockstep {
namespace {

using clock_world::InOrder;
using clock_world::Judge;
using clock_world::Score;
using clock_world::Simulate;
using clock_world::Simulated;
using clock_world::World;

constexpr int kAlignSeeds = 6;

World Decode() {
  World world;
  world.hosts = 5;
  world.gpus = 2;
  world.rounds = 1'200;
  return world;
}

World Training() {
  World world;
  world.hosts = 16;
  world.gpus = 1;
  world.rounds = 20;
  world.step.assign(16, {25'000, 5'000, 2'000});
  for (int i = 0; i < 3; ++i) world.step.push_back({500, 30, 60});
  return world;
}

World BandwidthBound() {
  World world = Training();
  world.step.assign(16, {25'000, 5'000, 2'000});
  world.end_frac = 0.01;
  return world;
}

World Pipeline() {
  World world;
  world.chain = true;
  world.hosts = 6;
  world.gpus = 1;
  world.rounds = 80;
  world.step = {{2'000, 60, 0}};
  return world;
}

ClockSolution SolutionOf(const Simulated& run) {
  InOrder executor;
  return AlignClocks(run.input, executor);
}

Score JudgeSeeds(World world, bool neighbours = false) {
  Score out;
  for (uint64_t seed = 1; seed <= kAlignSeeds; ++seed) {
    world.seed = seed;
    const Simulated run = Simulate(world);
    out.Add(Judge(run, SolutionOf(run).model, neighbours));
  }
  return out;
}

TEST(AlignClocks, LatencyBoundCollectivesGiveSubMicrosecondClocks) {
  const Score score = JudgeSeeds(Decode());
  EXPECT_LE(score.P(0.5), 0.5);
  EXPECT_LE(score.P(0.99), 1.5);
  EXPECT_EQ(score.band_misses, 0);
}

TEST(AlignClocks, AFewSmallCollectivesAStepAreEnough) {
  const Score score = JudgeSeeds(Training());
  EXPECT_LE(score.P(0.5), 1.5);
  EXPECT_LE(score.P(0.99), 6);
  EXPECT_EQ(score.band_misses, 0);
}

TEST(AlignClocks, APipelineGivesTheClocksOfNeighbours) {
  const Score score = JudgeSeeds(Pipeline(), true);
  EXPECT_LE(score.P(0.5), 1);
  EXPECT_LE(score.P(0.99), 3);
  EXPECT_EQ(score.band_misses, 0);
}

TEST(AlignClocks, BandwidthBoundCollectivesAreCoarseAndSayIt) {
  World world = BandwidthBound();
  const Score score = JudgeSeeds(world);
  EXPECT_LE(score.P(0.5), 40);
  EXPECT_LE(score.P(0.99), 250);
  EXPECT_EQ(score.band_misses, 0);
  EXPECT_GE(score.coverage(), 0.9);
  EXPECT_EQ(SolutionOf(Simulate(world)).model.ClockOf(DomainId{1}).method, ClockMethod::kEnds);
}

TEST(AlignClocks, WideEndsWidenTheStatedInterval) {
  World world = BandwidthBound();
  world.end_frac = 0.15;
  const Score score = JudgeSeeds(world);
  EXPECT_EQ(score.band_misses, 0);
  EXPECT_GE(score.coverage(), 0.9);
}

TEST(AlignClocks, TheStatedIntervalCoversTheTruthAsOftenAsItSays) {
  Score score = JudgeSeeds(Decode());
  score.Add(JudgeSeeds(Training()));
  EXPECT_GE(score.coverage(), 0.90);
  EXPECT_LE(score.coverage(), 0.98);
}

TEST(AlignClocks, WrongRecordsDoNotMoveTheClocks) {
  for (World world : {Decode(), Training()}) {
    world.bad_records = 0.02;
    const Score score = JudgeSeeds(world);
    EXPECT_LE(score.P(0.5), 1.5);
    EXPECT_LE(static_cast<double>(score.band_misses), 0.001 * static_cast<double>(score.band_checks));
  }
}

TEST(AlignClocks, InstancesThatContradictTheRestAreSuspicious) {
  World world = Decode();
  world.bad_records = 0.005;
  const Simulated run = Simulate(world);
  const ClockSolution solution = SolutionOf(run);
  const std::set<int64_t> wrong(run.wrong.begin(), run.wrong.end());
  const auto told_rightly = std::count_if(solution.suspicious.begin(), solution.suspicious.end(),
                                          [&](uint32_t i) { return wrong.contains(i); });
  EXPECT_EQ(static_cast<size_t>(told_rightly), solution.suspicious.size()) << "no sound instance is suspected";
  EXPECT_GE(static_cast<double>(told_rightly), 0.6 * static_cast<double>(wrong.size()));
  EXPECT_FALSE(solution.model.ClockOf(DomainId{1}).certified) << "more than 1 % had to be set aside";
}

TEST(AlignClocks, CleanRunsAreCertifiedAndSuspectNothing) {
  const Simulated run = Simulate(Decode());
  const ClockSolution solution = SolutionOf(run);
  EXPECT_TRUE(solution.suspicious.empty());
  for (int32_t d = 0; d < 5; ++d) EXPECT_TRUE(solution.model.ClockOf(DomainId{d}).certified);
  EXPECT_EQ(solution.model.ClockOf(DomainId{0}).method, ClockMethod::kShared);
  EXPECT_EQ(solution.model.ClockOf(DomainId{1}).method, ClockMethod::kBand);
}

TEST(AlignClocks, LostRecordsDoNotMatter) {
  World world = Decode();
  world.lost_records = 0.05;
  const Score score = JudgeSeeds(world);
  EXPECT_LE(score.P(0.99), 1.5);
  EXPECT_EQ(score.band_misses, 0);
}

TEST(AlignClocks, TheHostThatSteppedIsNamed) {
  for (World world : {Decode(), Training(), Pipeline()}) {
    world.rounds *= 2;
    world.step_host = 2;
    world.step_us = world.chain ? 2'000 : -700;
    for (uint64_t seed = 1; seed <= kAlignSeeds; ++seed) {
      world.seed = seed;
      const Simulated run = Simulate(world);
      const ClockModel model = SolutionOf(run).model;
      for (int32_t d = 0; d < world.hosts; ++d) {
        const auto& steps = model.ClockOf(DomainId{d}).steps;
        ASSERT_EQ(steps.size(), d == 2 ? 1u : 0u) << "domain " << d << " seed " << seed;
        if (d == 2) {
          EXPECT_NEAR(static_cast<double>(steps[0].size_ns), 1e3 * world.step_us, 5e3);
        }
      }
      EXPECT_LE(Judge(run, model, world.chain).P(0.9), 3) << "seed " << seed;
    }
  }
}

TEST(AlignClocks, QuietClocksDoNotStep) {
  for (World world : {Decode(), Training(), Pipeline(), BandwidthBound()}) {
    world.bad_records = 0.01;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      world.seed = seed;
      const ClockModel model = SolutionOf(Simulate(world)).model;
      for (int32_t d = 0; d < world.hosts; ++d) EXPECT_TRUE(model.ClockOf(DomainId{d}).steps.empty()) << seed;
    }
  }
}

TEST(AlignClocks, AHostThatIsAlwaysLastHasAnHonestSigma) {
  World world = Decode();
  world.late_host = 2;
  for (double hop_us : {0.0, 0.5}) {
    world.hop_us = hop_us;
    const Score score = JudgeSeeds(world);
    EXPECT_GE(score.coverage(), 0.95);
    EXPECT_EQ(score.band_misses, 0);
  }
  const ClockModel model = SolutionOf(Simulate(world)).model;
  EXPECT_EQ(model.ClockOf(DomainId{1}).method, ClockMethod::kEnds);
  EXPECT_GT(model.ClockUncertainty(0, 4)->ns, 2'000);
}

TEST(AlignClocks, WhoIsNeverLastInUnevenExchangesIsAsUncertainAsItsCertifiedBounds) {
  World world = Decode();
  world.late_host = 2;
  Simulated run = Simulate(world);
  for (ClockInstance& instance : run.input.instances) instance.own_ends = true;
  const ClockModel model = SolutionOf(run).model;
  const DomainClock& clock = model.ClockOf(DomainId{1});
  ASSERT_EQ(clock.method, ClockMethod::kEnds);
  ASSERT_FALSE(clock.knots.empty());
  for (const ClockKnot& knot : clock.knots) {
    EXPECT_GE(1.96 * static_cast<double>(knot.sigma_ns), 0.49 * static_cast<double>(knot.hi_ns - knot.lo_ns));
  }
}

// The run without the rank's records of all but so many instances.
Simulated OnlyAtFirst(Simulated run, int32_t rank_index, size_t instances) {
  std::vector<ClockMember> kept;
  for (size_t i = 0; i < run.input.instances.size(); ++i) {
    ClockInstance& instance = run.input.instances[i];
    const auto first = static_cast<uint32_t>(kept.size());
    for (uint32_t m = 0; m < instance.members; ++m) {
      const ClockMember& member = run.input.members[instance.first_member + m];
      if (i < instances || member.rank_index != rank_index) kept.push_back(member);
    }
    instance.first_member = first;
    instance.members = static_cast<uint32_t>(kept.size()) - first;
  }
  run.input.members = std::move(kept);
  return run;
}

// Its bias is not measured against the others of its host, and moves neither its host's clock nor what is said of it.
TEST(AlignClocks, ADeviceOfUnknownBiasLeavesTheClockOfItsHostAlone) {
  World world = Decode();
  world.hosts = 2;
  world.gpus = 4;
  world.rounds = 72;
  Score of_others;
  for (uint64_t seed = 1; seed <= 1'000; ++seed) {
    world.seed = seed;
    const Simulated run = OnlyAtFirst(Simulate(world), 1, 15);
    const ClockModel model = SolutionOf(run).model;
    EXPECT_GT(model.BiasDoubtOf(1), 0);
    EXPECT_GT(model.ClockUncertainty(1, 4)->ns, model.ClockUncertainty(0, 4)->ns);
    of_others.Add(Judge(run, model));
  }
  EXPECT_GE(of_others.coverage(), 0.93);
}

// How long the others' kernels take when they seem to be the last ones includes waiting for it: that is no place.
TEST(AlignClocks, AHostThatIsAlwaysALittleLaterMovesNoClock) {
  World world;
  world.hosts = 8;
  world.gpus = 1;
  world.rounds = 2'000;
  world.step = {{30, 40, 2}};
  world.transfer_noise = 0.05;
  world.end_jitter_us = 0.3;
  world.jitter_us = 0.3;
  world.bias_us = 0;
  world.late_host = 4;
  Score score;
  for (uint64_t seed = 1; seed <= kAlignSeeds; ++seed) {
    world.seed = seed;
    world.late_us = 1 + static_cast<double>(seed);
    const Simulated run = Simulate(world);
    score.Add(Judge(run, SolutionOf(run).model));
  }
  EXPECT_LE(score.P(0.9), 0.5);
  EXPECT_GE(score.coverage(), 0.95);
}

TEST(AlignClocks, SamplesThatLieTogetherSayLittleOfTheRest) {
  World world = Decode();
  world.drift_ppm = 20;
  Score whole;
  Score middle;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    world.seed = seed;
    Simulated run = Simulate(world);
    whole.Add(Judge(run, SolutionOf(run).model));
    // All but the first and the last instance lie in the middle fifth.
    const size_t n = run.input.instances.size();
    auto& all = run.input.instances;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(3 * n / 5), all.end() - 1);
    all.erase(all.begin() + 1, all.begin() + static_cast<std::ptrdiff_t>(2 * n / 5));
    middle.Add(Judge(run, SolutionOf(run).model));
  }
  EXPECT_GE(middle.coverage(), 0.9);
  EXPECT_GT(middle.P(0.5), whole.P(0.5));
}

TEST(AlignClocks, DriftIsToldWhereItCanBe) {
  World world = Decode();
  world.wander_ppm = 0;
  const Simulated run = Simulate(world);
  const ClockModel model = SolutionOf(run).model;
  for (int32_t d = 1; d < 5; ++d) {
    const auto& drift = model.ClockOf(DomainId{d}).drift_ppm;
    ASSERT_TRUE(drift.has_value());
    EXPECT_NEAR(*drift, 1e6 * (run.drift[static_cast<size_t>(d)] - run.drift[0]), 2);
  }
}

TEST(AlignClocks, AFewMillisecondsTellNoDrift) {
  World world = Decode();
  world.rounds = 20;
  const ClockModel model = SolutionOf(Simulate(world)).model;
  EXPECT_FALSE(model.ClockOf(DomainId{1}).drift_ppm.has_value());
  EXPECT_GE(model.ClockOf(DomainId{1}).knots.size(), 2u);
}

TEST(AlignClocks, DomainsWithoutCommonInstancesStayApart) {
  Simulated run = Simulate(Decode());
  // Hosts 3 and 4 only meet each other.
  std::vector<ClockInstance> instances;
  std::vector<ClockMember> members;
  for (const ClockInstance& instance : run.input.instances) {
    for (const bool low : {true, false}) {
      const auto first = static_cast<uint32_t>(members.size());
      for (uint32_t m = 0; m < instance.members; ++m) {
        const ClockMember& member = run.input.members[instance.first_member + m];
        if ((member.rank_index < 6) == low) members.push_back(member);
      }
      instances.push_back(
          {first, static_cast<uint32_t>(members.size()) - first, ClockRelation::kAllPairs, low ? 0u : 1u});
    }
  }
  run.input.instances = instances;
  run.input.members = members;
  const ClockModel model = SolutionOf(run).model;
  EXPECT_TRUE(model.PairUncertainty(0, 4).has_value());
  EXPECT_TRUE(model.PairUncertainty(6, 9).has_value());
  EXPECT_FALSE(model.PairUncertainty(0, 6).has_value());
  EXPECT_EQ(model.ClockOf(DomainId{3}).method, ClockMethod::kShared) << "reference of the second component";
  EXPECT_NE(model.ComponentOf(0), model.ComponentOf(6));
}

TEST(AlignClocks, ALoneDomainHasNothingToCompareWith) {
  ClockInput input;
  input.domain = {0, 1};
  input.tick_ns = {32, 32};
  InOrder executor;
  const ClockModel model = AlignClocks(input, executor).model;
  EXPECT_EQ(model.ClockOf(DomainId{1}).method, ClockMethod::kNone);
  EXPECT_EQ(model.Correction(1, LocalTime{123}).ns, 0);
}

TEST(AlignClocks, ASingleInstanceResolvesNothingBelowItsDuration) {
  ClockInput input;
  input.domain = {0, 1, 2};
  input.tick_ns = {32, 32, 32};
  input.instances = {{0, 3}};
  input.members = {{0, 0, 20'000'000}, {1, 5'000'000, 38'000'000}, {2, 1'000'000, 25'000'000}};
  InOrder executor;
  const ClockModel model = AlignClocks(input, executor).model;
  ASSERT_TRUE(model.PairUncertainty(0, 1).has_value());
  EXPECT_GT(model.PairUncertainty(0, 1)->ns, 18'000'000) << "ends 18 ms apart are no clock";
  EXPECT_NE(model.ClockOf(DomainId{1}).method, ClockMethod::kBand);
}

TEST(AlignClocks, AShortKernelOfTheLastArriverProvesNothingAlone) {
  ClockInput input;
  input.domain = {0, 1, 2};
  input.tick_ns = {32, 32, 32};
  input.instances = {{0, 3}};
  input.members = {{0, 0, 20'000'000}, {1, 19'000'000, 19'400'000}, {2, 1'000'000, 25'000'000}};
  InOrder executor;
  const ClockModel model = AlignClocks(input, executor).model;
  EXPECT_GT(model.PairUncertainty(0, 1)->ns, 20'000'000) << "no spread of one instance is that large";
}

// Sizes are not known: who is last differs from size to size, and how long its own kernel takes is no position.
TEST(AlignClocks, UnlikeInstancesOfOneClassMoveNoClock) {
  constexpr int64_t kTransfersNs[] = {10'000, 40'000, 80'000};
  ClockInput input;
  input.domain = {0, 1, 2};
  input.tick_ns = {32, 32, 32};
  for (int64_t k = 0; k < 300; ++k) {
    const int64_t last = k % 3;
    const int64_t arrival = k * 1'000'000;
    input.instances.push_back({static_cast<uint32_t>(input.members.size()), 3});
    for (int32_t r = 0; r < 3; ++r) {
      const int64_t noise = (k * 7'919 + r * 104'729) % 1'000;
      const int64_t early = r == last ? 0 : 20'000 + 10 * noise;
      input.members.push_back({r, arrival - early, arrival + kTransfersNs[last] + noise});
    }
  }
  InOrder executor;
  const ClockModel model = AlignClocks(input, executor).model;
  for (int32_t r = 1; r < 3; ++r) {
    EXPECT_LE(std::abs(model.Correction(r, LocalTime{150'000'000}).ns), 1'000) << "their clocks agree";
  }
}

// Both hosts are last in both sizes, one of them more often in the short one.
TEST(AlignClocks, ASizeThatOneHostEndsMoreOftenThanTheOtherIsNoPosition) {
  ClockInput input;
  input.domain = {0, 1};
  input.tick_ns = {32, 32};
  for (int64_t k = 0; k < 60; ++k) {
    const int64_t last = k % 2;
    const bool is_short = (k / 2) % 5 < (last == 0 ? 2 : 3);
    const int64_t arrival = k * 200'000;
    input.instances.push_back({static_cast<uint32_t>(input.members.size()), 2});
    for (int32_t r = 0; r < 2; ++r) {
      const int64_t noise = (k * 7'919 + r * 104'729) % 1'000;
      const int64_t early = r == last ? 0 : 2'000 + 8 * noise;
      input.members.push_back({r, arrival - early, arrival + (is_short ? 25'000 : 52'000) + noise});
    }
  }
  InOrder executor;
  const ClockModel model = AlignClocks(input, executor).model;
  const int64_t error = std::abs(model.Correction(1, LocalTime{6'000'000}).ns);
  EXPECT_LE(error, model.ClockUncertainty(0, 1, AlignedTime{6'000'000})->ns);
  EXPECT_LE(error, 2'000) << "their clocks agree";
}

TEST(AlignClocks, ManyDomainsAreBoundedThroughChains) {
  World world = Decode();
  world.hosts = 40;
  world.gpus = 1;
  world.rounds = 300;
  const Simulated run = Simulate(world);
  const Score score = Judge(run, SolutionOf(run).model);
  EXPECT_EQ(score.band_misses, 0);
  EXPECT_LE(score.P(0.99), 3);
  EXPECT_LT(score.widths_us.back(), 1'000);
}

TEST(AlignClocks, HugeOffsetsOverflowNothing) {
  Simulated run = Simulate(Training());
  for (ClockMember& m : run.input.members) {
    const int64_t shift = m.rank_index % 2 == 0 ? kMaxAbsTimeNs / 2 : -kMaxAbsTimeNs / 2;
    m.start_ns += shift - 1'700'000'000'000'000'000;
    m.end_ns += shift - 1'700'000'000'000'000'000;
  }
  const ClockModel model = SolutionOf(run).model;
  const ClockMember& a = run.input.members[0];
  const ClockMember& b = run.input.members[1];
  const int64_t between = model.Correction(1, LocalTime{b.start_ns}).ns - model.Correction(0, LocalTime{a.start_ns}).ns;
  EXPECT_NEAR(static_cast<double>(between), -static_cast<double>(kMaxAbsTimeNs), 1e9);
}

}  // namespace
}  // namespace lockstep
