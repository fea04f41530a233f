#include "analysis/metrics/fleet/exposure.h"
#include "analysis/model/instance_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lockstep {
namespace {

struct ExposureCase {
  std::vector<InstanceRow> instances;
  std::vector<ArrivalOfRow> arrivals;
  std::vector<bool> compute;  // per ns
};

constexpr int64_t kLength = 400;

// Merged compute intervals clipped to the instance, as the condensed data holds them.
void SetCover(const std::vector<bool>& compute, InstanceRow& instance) {
  int64_t position = instance.start_ns;
  for (int64_t t = instance.start_ns; t < instance.end_ns();) {
    if (!compute[static_cast<size_t>(t)]) {
      ++t;
      continue;
    }
    int64_t end = t;
    while (end < instance.end_ns() && compute[static_cast<size_t>(end)]) ++end;
    instance.cover.emplace_back(t - position, end - t);
    position = t = end;
  }
}

ExposureCase RandomCase(std::mt19937& random) {
  const auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  ExposureCase c;
  c.compute.assign(kLength, false);
  for (int i = 0; i < 12; ++i) {
    const int64_t start = draw(0, kLength - 1);
    const int64_t end = std::min(kLength, start + draw(0, 40));
    std::fill(c.compute.begin() + start, c.compute.begin() + end, true);
  }
  for (int i = 0; i < 10; ++i) {
    InstanceRow instance;
    instance.start_ns = draw(0, kLength - 1);
    instance.duration_ns = std::min(draw(0, 60), kLength - instance.start_ns);
    SetCover(c.compute, instance);
    c.instances.push_back(instance);
  }
  std::sort(c.instances.begin(), c.instances.end(),
            [](const InstanceRow& a, const InstanceRow& b) { return a.start_ns < b.start_ns; });
  for (const InstanceRow& instance : c.instances) {
    ArrivalOfRow arrival;
    arrival.usable = draw(0, 3) != 0;
    arrival.resolved = arrival.usable && draw(0, 2) != 0;
    arrival.arrival_ns = instance.start_ns + draw(-5, 70);
    arrival.latest_ns = draw(0, 2) == 0 ? kNeverArrived : arrival.arrival_ns + draw(-3, 30);
    c.arrivals.push_back(arrival);
  }
  return c;
}

// The definition, instant by instant.
std::vector<Exposure> Naive(const ExposureCase& c, const std::vector<SweepWindow>& windows) {
  std::vector<Exposure> results(windows.size());
  for (size_t w = 0; w < windows.size(); ++w) {
    for (int64_t t = windows[w].start_ns; t < windows[w].end_ns; ++t) {
      bool covered = false;
      bool transfer = false;
      bool unresolved = false;
      for (size_t i = 0; i < c.instances.size(); ++i) {
        if (t < c.instances[i].start_ns || t >= c.instances[i].end_ns()) continue;
        covered = true;
        const ArrivalOfRow& arrival = c.arrivals[i];
        transfer = transfer || (arrival.usable && t >= std::max(arrival.arrival_ns, arrival.latest_ns));
        unresolved = unresolved || !arrival.resolved || t >= arrival.arrival_ns;
      }
      if (!covered || c.compute[static_cast<size_t>(t)]) continue;
      ++(transfer ? results[w].transfer_ns : unresolved ? results[w].unresolved_ns : results[w].wait_ns);
    }
  }
  return results;
}

std::vector<Exposure> Sweep(const ExposureCase& c, const std::vector<SweepWindow>& windows) {
  ExposureSweep sweep(windows);
  for (size_t i = 0; i < c.instances.size(); ++i) sweep.Add(c.instances[i], c.arrivals[i]);
  return sweep.Finish();
}

TEST(ExposureSweep, EqualsTheDefinitionInstantByInstantOnRandomRanks) {
  std::mt19937 random(7);
  const std::vector<SweepWindow> windows = {{0, 90}, {90, 91}, {120, 333}, {333, kLength}};
  for (int trial = 0; trial < 300; ++trial) {
    const ExposureCase c = RandomCase(random);
    ASSERT_EQ(Sweep(c, windows), Naive(c, windows)) << "trial " << trial;
  }
}

TEST(ExposureSweep, GivesNothingWithoutInstances) { EXPECT_EQ(Sweep({}, {{0, 10}}), std::vector<Exposure>(1)); }

TEST(ExposureSweep, IgnoresCoverThatLeavesItsInstance) {
  InstanceRow instance;
  instance.start_ns = 10;
  instance.duration_ns = 10;
  instance.cover = {{2, 3}, {INT64_MAX, 5}};
  ExposureSweep sweep({{0, 100}});
  sweep.Add(instance, {});
  EXPECT_EQ(sweep.Finish()[0], (Exposure{0, 0, 7}));
}

TEST(Reconcile, PutsARemainderIntoUnresolved) {
  Exposure exposure{1, 2, 3};
  Reconcile(exposure, 10);
  EXPECT_EQ(exposure, (Exposure{1, 2, 7}));
}

TEST(Reconcile, TakesAnExcessFromUnresolvedFirst) {
  Exposure exposure{4, 2, 3};
  Reconcile(exposure, 5);
  EXPECT_EQ(exposure, (Exposure{3, 2, 0}));
}

}  // namespace
}  // namespace lockstep
