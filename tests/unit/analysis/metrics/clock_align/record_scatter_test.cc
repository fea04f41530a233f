#include "analysis/metrics/clock_align/record_scatter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tests/unit/analysis/metrics/clock_align/clock_world.h"

namespace lockstep {
namespace {

using clock_world::InOrder;
using clock_world::Simulate;
using clock_world::Simulated;
using clock_world::World;
using clock_world::WorldOf;

constexpr int kScatterSeeds = 4;

World FourHosts(uint64_t seed) { return WorldOf(seed, 4, 2); }

World WithExactClocks(World world) {
  world.offset_ms = world.drift_ppm = world.wander_ppm = world.bias_us = world.jitter_us = 0;
  world.tick_ns = 1;
  return world;
}

ClockModel ModelOf(const Simulated& run) {
  InOrder executor;
  return AlignClocks(run.input, executor).model;
}

// Every record of the ranks lies later by 0 to `us`, each by another draw.
Simulated Scattered(const World& world, const std::vector<int32_t>& ranks, double us) {
  Simulated run = Simulate(world);
  const clock_world::detail::Draws draws(world.seed + 77);
  for (size_t m = 0; m < run.input.members.size(); ++m) {
    ClockMember& member = run.input.members[m];
    for (const int32_t rank : ranks) {
      if (member.rank_index != rank) continue;
      const int64_t by = std::llround(1e3 * us * draws.Uniform(1, m));
      member.start_ns += by;
      member.end_ns += by;
    }
  }
  return run;
}

// Share of the instances in which U of the two records holds the error of their difference.
double CoverageOf(const Simulated& run, const ClockModel& model, uint32_t a, uint32_t b) {
  const Simulated truth = Simulate(WithExactClocks(run.world));
  const auto aligned = [&](const ClockMember& m) { return model.Align(m.rank_index, LocalTime{m.start_ns}).ns; };
  int64_t covered = 0;
  for (const ClockInstance& instance : run.input.instances) {
    const ClockMember* members = &run.input.members[instance.first_member];
    const ClockMember* exact = &truth.input.members[instance.first_member];
    const int64_t measured = aligned(members[a]) - aligned(members[b]);
    const auto u = model.PairUncertainty(members[a].rank_index, members[b].rank_index);
    const bool held = u && std::abs(measured - (exact[a].start_ns - exact[b].start_ns)) <= u->ns;
    covered += held ? 1 : 0;
  }
  return static_cast<double>(covered) / static_cast<double>(run.input.instances.size());
}

TEST(RecordScatter, AClockThatContradictsItselfStatesTheScatterOfItsRecords) {
  for (const double us : {10.0, 100.0, 3'000.0}) {
    for (uint64_t seed = 1; seed <= kScatterSeeds; ++seed) {
      const Simulated run = Scattered(FourHosts(seed), {6, 7}, us);
      const ClockModel model = ModelOf(run);
      EXPECT_GE(CoverageOf(run, model, 0, 6), 0.95) << us << " us, seed " << seed;
      EXPECT_GE(CoverageOf(run, model, 6, 7), 0.95) << us << " us, seed " << seed;
      EXPECT_FALSE(model.ClockOf(DomainId{3}).certified) << us << " us, seed " << seed;
    }
  }
}

TEST(RecordScatter, TheOtherClocksStaySharp) {
  for (uint64_t seed = 1; seed <= kScatterSeeds; ++seed) {
    const Simulated run = Scattered(FourHosts(seed), {6, 7}, 3'000);
    const ClockModel model = ModelOf(run);
    EXPECT_GE(CoverageOf(run, model, 0, 2), 0.95) << seed;
    EXPECT_LT(model.PairUncertainty(0, 2)->ns, 10'000) << seed;
  }
}

// The mean end of a host's eight devices scatters less than the end of one of them does. Records scatter here by as
// much as ends allow: nothing else makes ends scatter.
TEST(RecordScatter, TheMeanOfManyEndsIsNoMeasureOfASingleRecord) {
  for (uint64_t seed = 1; seed <= kScatterSeeds; ++seed) {
    World world = WorldOf(seed, 3, 8);
    world.end_jitter_us = 0;
    world.bias_us = 0;
    const Simulated run = Simulate(world);
    const ClockModel model = ModelOf(run);
    for (int32_t domain = 0; domain < model.domains(); ++domain) {
      EXPECT_GE(model.ClockOf(DomainId{domain}).record_sd_ns, 425) << seed;  // the jitter is 500
    }
    EXPECT_GE(CoverageOf(run, model, 0, 8), 0.89) << seed;
    EXPECT_GE(CoverageOf(run, model, 8, 16), 0.89) << seed;
  }
}

TEST(RecordScatter, OneScatteredDeviceIsHeldByTheUncertaintyOfItsDomain) {
  for (const double us : {100.0, 3'000.0}) {
    for (uint64_t seed = 1; seed <= kScatterSeeds; ++seed) {
      World world = FourHosts(seed);
      world.gpus = 4;
      const Simulated run = Scattered(world, {13}, us);
      const ClockModel model = ModelOf(run);
      EXPECT_GE(CoverageOf(run, model, 0, 13), 0.95) << us << " us, seed " << seed;
      EXPECT_GE(CoverageOf(run, model, 12, 13), 0.95) << us << " us, seed " << seed;
      EXPECT_GE(CoverageOf(run, model, 12, 14), 0.95) << us << " us, seed " << seed;
      EXPECT_LT(model.PairUncertainty(12, 14)->ns, 10'000) << "neither of them scatters, seed " << seed;
    }
  }
}

TEST(RecordScatter, OneOfTwoClocksThatScattersIsHeldToo) {
  for (uint64_t seed = 1; seed <= kScatterSeeds; ++seed) {
    World world = FourHosts(seed);
    world.hosts = 2;
    const Simulated run = Scattered(world, {2, 3}, 3'000);
    EXPECT_GE(CoverageOf(run, ModelOf(run), 0, 2), 0.95) << seed;
  }
}

TEST(RecordScatter, AFewWrongRecordsWidenNothing) {
  for (uint64_t seed = 1; seed <= kScatterSeeds; ++seed) {
    World world = FourHosts(seed);
    const int64_t clean = ModelOf(Simulate(world)).PairUncertainty(0, 6)->ns;
    world.bad_records = 0.02;
    EXPECT_LE(ModelOf(Simulate(world)).PairUncertainty(0, 6)->ns, 2 * clean) << seed;
  }
}

// Ends of large transfers lie apart by shares of their durations: that is no fault of a clock.
TEST(RecordScatter, EndsOfLargeTransfersAreNoScatterOfClocks) {
  for (uint64_t seed = 1; seed <= kScatterSeeds; ++seed) {
    World world = FourHosts(seed);
    world.step = {{25'000, 5'000, 2'000}};
    world.end_frac = 0.15;
    world.random_ends = true;
    const Simulated run = Simulate(world);
    InOrder executor;
    for (const double sd : ExcessScatter(run.input, ModelOf(run), executor)) EXPECT_EQ(sd, 0) << seed;
  }
}

}  // namespace
}  // namespace lockstep
