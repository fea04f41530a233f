#include "analysis/metrics/clock_align/in_domain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/unit/analysis/metrics/clock_align/clock_world.h"

namespace lockstep {
namespace {

using clock_world::InOrder;
using clock_world::Simulate;
using clock_world::Simulated;
using clock_world::World;
using clock_world::WorldOf;

constexpr int kBiasSeeds = 8;

World OneHost(uint64_t seed) { return WorldOf(seed, 1, 4); }

TEST(InDomainClock, DeviceBiasIsFound) {
  for (uint64_t seed = 1; seed <= kBiasSeeds; ++seed) {
    const Simulated run = Simulate(OneHost(seed));
    InOrder executor;
    const ClockModel model = AlignClocks(run.input, executor).model;
    for (int32_t r = 1; r < 4; ++r) {
      const int64_t found = model.BiasOf(r, LocalTime{run.end_ns}) - model.BiasOf(0, LocalTime{run.end_ns});
      EXPECT_NEAR(static_cast<double>(found), static_cast<double>(run.bias_ns[static_cast<size_t>(r)] - run.bias_ns[0]),
                  600)
          << seed;
    }
  }
}

// Start differences of the records against those of the truth: the starts of one instance by the clocks of the devices.
TEST(InDomainClock, TheStatedUncertaintyCoversDifferencesOfRecords) {
  for (double bias_us : {0.0, 2.0, 15.0}) {
    int64_t covered = 0;
    int64_t checks = 0;
    for (uint64_t seed = 1; seed <= kBiasSeeds; ++seed) {
      World world = OneHost(seed);
      world.bias_us = bias_us;
      World exact = world;
      exact.jitter_us = 0;
      exact.bias_us = 0;
      exact.tick_ns = 1;
      const Simulated run = Simulate(world);
      const Simulated truth = Simulate(exact);
      InOrder executor;
      const ClockModel model = AlignClocks(run.input, executor).model;
      for (const ClockInstance& instance : run.input.instances) {
        const ClockMember& a = run.input.members[instance.first_member];
        const ClockMember& b = run.input.members[instance.first_member + 1 + checks % 3];
        const ClockMember& true_a = truth.input.members[instance.first_member];
        const ClockMember& true_b = truth.input.members[instance.first_member + 1 + checks % 3];
        const int64_t measured =
            model.Align(a.rank_index, LocalTime{a.start_ns}).ns - model.Align(b.rank_index, LocalTime{b.start_ns}).ns;
        const int64_t error = measured - (true_a.start_ns - true_b.start_ns);
        covered += std::abs(error) <= model.PairUncertainty(a.rank_index, b.rank_index)->ns ? 1 : 0;
        ++checks;
      }
    }
    EXPECT_GE(static_cast<double>(covered), 0.95 * static_cast<double>(checks)) << "bias " << bias_us;
  }
}

TEST(InDomainClock, ADeviceThatIsNearlyAlwaysLastIsCorrectedToo) {
  for (uint64_t seed = 1; seed <= kBiasSeeds; ++seed) {
    World world = OneHost(seed);
    world.gpus = 8;
    world.rounds = 1'000;
    world.late_rank = 2;
    world.late_share = 0.985;
    const Simulated run = Simulate(world);
    InOrder executor;
    const ClockModel model = AlignClocks(run.input, executor).model;
    const int64_t found = model.BiasOf(2, LocalTime{run.end_ns}) - model.BiasOf(0, LocalTime{run.end_ns});
    EXPECT_NEAR(static_cast<double>(found), static_cast<double>(run.bias_ns[2] - run.bias_ns[0]), 1'000) << seed;
  }
}

// Two devices, of which the second one is always the last.
World OneAlwaysLast(uint64_t seed) {
  World world = OneHost(seed);
  world.gpus = 2;
  world.late_rank = 1;
  world.late_share = 1;
  return world;
}

void ExpectNothingIsCorrected(const World& world) {
  InOrder executor;
  const ClockModel model = AlignClocks(Simulate(world).input, executor).model;
  EXPECT_EQ(model.BiasOf(0, LocalTime{}), 0);
  EXPECT_EQ(model.BiasOf(1, LocalTime{}), 0);
}

// Nothing tells how being the last one moves an end. What clocks usually differ by is far more.
TEST(InDomainClock, OfTwoDevicesTheOneThatIsAlwaysLastIsMostlyCorrected) {
  constexpr int kSeeds = 60;
  double before = 0;
  double after = 0;
  int covered = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world = OneAlwaysLast(seed);
    world.hop_us = seed % 2 == 0 ? 1 : -1;  // by so much it ends before the other one, or after it
    const Simulated run = Simulate(world);
    InOrder executor;
    const ClockModel model = AlignClocks(run.input, executor).model;
    const LocalTime at{run.end_ns};
    const auto bias = static_cast<double>(run.bias_ns[1] - run.bias_ns[0]);
    const double error = static_cast<double>(model.BiasOf(1, at) - model.BiasOf(0, at)) - bias;
    before += bias * bias;
    after += error * error;
    covered += std::abs(error) <= static_cast<double>(model.PairUncertainty(0, 1)->ns) ? 1 : 0;
  }
  EXPECT_LT(std::sqrt(after), 0.5 * std::sqrt(before));
  EXPECT_GE(covered, kSeeds * 93 / 100);
}

// The one that is always last ends 40 us before the other one: no two clocks of a host differ by so much.
TEST(InDomainClock, EndsFartherApartThanClocksMoveNoDevice) {
  World world = OneAlwaysLast(1);
  world.bias_us = 0;
  world.hop_us = 40;
  ExpectNothingIsCorrected(world);
}

// Ends of large transfers come early by place in the ring: U holds what nothing tells from a bias.
void ExpectPlacesAreHeld(double late_share) {
  for (double end_frac : {0.002, 0.15}) {
    for (uint64_t seed = 1; seed <= kBiasSeeds; ++seed) {
      World world = OneHost(seed);
      world.step = {{2'000, 5'000, 30}};
      world.end_frac = end_frac;
      world.late_rank = 2;
      world.late_share = late_share;
      const Simulated run = Simulate(world);
      InOrder executor;
      const ClockModel model = AlignClocks(run.input, executor).model;
      for (int32_t r = 1; r < 4; ++r) {
        const LocalTime at{run.end_ns};
        const int64_t found = model.BiasOf(r, at) - model.BiasOf(0, at);
        const int64_t error = found - (run.bias_ns[static_cast<size_t>(r)] - run.bias_ns[0]);
        EXPECT_LE(std::abs(error), model.PairUncertainty(0, r)->ns) << end_frac << " seed " << seed;
      }
    }
  }
}

TEST(InDomainClock, LargeTransfersAloneLeaveTheirPlacesInDoubt) { ExpectPlacesAreHeld(0); }

TEST(InDomainClock, PlacesOfDevicesThatAreNeverLastAreInDoubtToo) { ExpectPlacesAreHeld(1); }

// Four times as many exchanges in which rank 3, which gets the most, ends 40 us after the others.
TEST(InDomainClock, EndsByVolumeMoveNoDevice) {
  const Simulated run = Simulate(OneHost(3));
  ClockInput input = run.input;
  for (int copy = 0; copy < 4; ++copy) {
    for (const ClockInstance& known : run.input.instances) {
      ClockInstance exchange = known;
      exchange.first_member = static_cast<uint32_t>(input.members.size());
      exchange.cls = 7;
      exchange.own_ends = true;
      input.instances.push_back(exchange);
      for (uint32_t m = 0; m < known.members; ++m) {
        ClockMember member = run.input.members[known.first_member + m];
        if (member.rank_index == 3) member.end_ns += 40'000;
        input.members.push_back(member);
      }
    }
  }
  InOrder executor;
  const ClockModel without = AlignClocks(run.input, executor).model;
  const ClockModel with = AlignClocks(input, executor).model;
  for (int32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(with.BiasOf(r, LocalTime{run.end_ns}), without.BiasOf(r, LocalTime{run.end_ns})) << r;
  }
}

// Rank 2 is the last in nearly all short collectives. Of large ones, in which it is the first, there are enough, but
// its ends come early by its place: 30 us of 30 ms.
TEST(InDomainClock, AClassOfLongTransfersMovesNoDevice) {
  for (uint64_t seed = 1; seed <= kBiasSeeds; ++seed) {
    World world = OneHost(seed);
    world.late_rank = 2;
    world.late_share = 0.97;
    const Simulated run = Simulate(world);
    ClockInput input = run.input;
    for (size_t i = 0; i < 24; ++i) {
      ClockInstance large = run.input.instances[10 * i];
      const uint32_t first = large.first_member;
      large.first_member = static_cast<uint32_t>(input.members.size());
      large.cls = 7;
      input.instances.push_back(large);
      for (uint32_t m = 0; m < large.members; ++m) {
        ClockMember member = run.input.members[first + m];
        member.start_ns -= 30'000'000 + (member.rank_index == 2 ? 100'000 : 0);
        if (member.rank_index == 2) member.end_ns -= 30'000;
        input.members.push_back(member);
      }
    }
    InOrder executor;
    const ClockModel without = AlignClocks(run.input, executor).model;
    const ClockModel with = AlignClocks(input, executor).model;
    for (int32_t r = 0; r < 4; ++r) {
      EXPECT_EQ(with.BiasOf(r, LocalTime{run.end_ns}), without.BiasOf(r, LocalTime{run.end_ns})) << seed << ": " << r;
    }
  }
}

TEST(InDomainClock, FewInstancesAreNotCorrected) {
  for (const double bias_us : {2.0, 8.0}) {
    World world = OneHost(5);
    world.gpus = 2;
    world.rounds = 19;
    world.bias_us = bias_us;
    ExpectNothingIsCorrected(world);
  }
}

TEST(InDomainClock, WithoutCorrectionTheUncertaintyIsThe95thPercentileOfTheEnds) {
  ClockInput input;
  input.domain = {0, 0};
  input.tick_ns = {32, 32};
  for (int64_t i = 1; i <= 40; ++i) {
    const int64_t at = i * 1'000'000;
    input.instances.push_back({static_cast<uint32_t>(input.members.size()), 2});
    input.members.push_back({0, at, at + 50'000});
    input.members.push_back({1, at, at + 50'000 + (i % 2 == 0 ? 1 : -1) * i * 100});
  }
  InOrder executor;
  EXPECT_EQ(AlignClocks(input, executor).model.PairUncertainty(0, 1)->ns, 3'800) << "x_(ceil(0.95 * 40)) = x_38";
}

TEST(InDomainClock, UnderThreeInstancesNothingIsKnown) {
  ClockInput input;
  input.domain = {0, 0};
  input.tick_ns = {32, 32};
  input.instances = {{0, 2}, {2, 2}};
  input.members = {{0, 0, 100}, {1, 0, 100}, {0, 1'000, 1'100}, {1, 1'000, 1'100}};
  InOrder executor;
  EXPECT_EQ(AlignClocks(input, executor).model.PairUncertainty(0, 1)->ns, ClockModel::kDefaultPairUncertaintyNs);
}

TEST(InDomainClock, AJumpOfOneDeviceSplitsItsBias) {
  for (uint64_t seed = 1; seed <= kBiasSeeds; ++seed) {
    World world = OneHost(seed);
    world.gpus = 2;
    world.rounds = 800;
    Simulated run = Simulate(world);
    const int64_t middle = run.input.members[run.input.members.size() / 2].start_ns;
    for (ClockMember& m : run.input.members) {
      if (m.rank_index != 1 || m.start_ns < middle) continue;
      m.start_ns += 12'000;
      m.end_ns += 12'000;
    }
    InOrder executor;
    const ClockModel model = AlignClocks(run.input, executor).model;
    const auto between = [&](int64_t t) { return model.BiasOf(1, LocalTime{t}) - model.BiasOf(0, LocalTime{t}); };
    EXPECT_NEAR(static_cast<double>(between(middle + 20'000'000) - between(middle - 20'000'000)), 12'000, 1'000)
        << seed;
  }
}

TEST(InDomainClock, NoJumpsAreSeenInQuietRuns) {
  for (uint64_t seed = 1; seed <= kBiasSeeds; ++seed) {
    const Simulated run = Simulate(OneHost(seed));
    InOrder executor;
    ClockModel model = AlignClocks(run.input, executor).model;
    DeviceClocks devices = MeasureInDomain(run.input, executor, model);
    for (const auto& pieces : devices.bias) EXPECT_LE(pieces.size(), 1u) << seed;
  }
}

}  // namespace
}  // namespace lockstep
