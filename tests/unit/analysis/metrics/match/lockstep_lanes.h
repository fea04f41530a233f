// Lanes of two hosts whose ranks end together, host by host or all of them, for as long as both hosts record.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "analysis/metrics/match/lanes/coarse_clocks.h"

namespace lockstep {

struct LockstepShape {
  size_t lanes = 8;  // of each host
  size_t rows = 400;
  size_t shared = 60;  // rows that both hosts record: the last of one, the first of the other
  // What an operation adds to the distance of the two jobs; 0 = they are one job.
  double wander_ns = 600;
  int64_t offset_ns = 3'000'000;  // of the second host's clock
  unsigned seed = 1;
};

// Steps of 20 operations that differ from each other and from step to step.
inline std::vector<double> Schedule(size_t rows, std::mt19937& random) {
  std::vector<double> out;
  std::uniform_real_distribution<double> even(0, 1);
  std::vector<double> gap(20);
  for (double& g : gap) g = 40'000 + 25'000 * even(random);
  double t = 1e9;
  for (size_t i = 0; i < rows; ++i) {
    t += gap[i % gap.size()] + 3'000 * even(random) + (i % gap.size() == 0 ? 90'000 * even(random) : 0);
    out.push_back(t);
  }
  return out;
}

inline RankLane LaneOf(const std::vector<double>& ends, int32_t rank, int32_t position, int64_t offset_ns,
                       std::mt19937& random) {
  std::exponential_distribution<double> late(1 / 1'000.0);
  std::uniform_real_distribution<double> even(0, 1);
  RankLane lane;
  lane.rank_index = rank;
  lane.cls = 1;
  lane.position = position;
  for (const double t : ends) {
    const auto end = static_cast<int64_t>(t + late(random)) + offset_ns;
    lane.events.push_back({end - 20'000 - static_cast<int64_t>(4'000 * even(random)), end, 0});
  }
  std::sort(lane.events.begin(), lane.events.end(),
            [](const LaneEvent& a, const LaneEvent& b) { return a.end_ns < b.end_ns; });
  return lane;
}

// Ranks 0 .. lanes-1 on the first host, the others on the second.
inline std::vector<RankLane> LockstepLanes(const LockstepShape& shape) {
  std::mt19937 random(shape.seed);
  const std::vector<double> all = Schedule(2 * shape.rows - shape.shared, random);
  const std::vector<double> first(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shape.rows));
  std::vector<double> second(all.end() - static_cast<std::ptrdiff_t>(shape.rows), all.end());
  std::normal_distribution<double> step(0, 1);
  double apart = 0;
  for (double& t : second) t += apart += shape.wander_ns * step(random);
  std::vector<RankLane> lanes;
  for (size_t l = 0; l < 2 * shape.lanes; ++l) {
    const bool other = l >= shape.lanes;
    lanes.push_back(LaneOf(other ? second : first, static_cast<int32_t>(l), static_cast<int32_t>(l % shape.lanes),
                           other ? shape.offset_ns : 0, random));
  }
  return lanes;
}

inline ClockModel TwoHosts(size_t lanes_each) {
  ClockModel model;
  for (size_t l = 0; l < 2 * lanes_each; ++l) {
    model.SetDomain(static_cast<int32_t>(l), DomainId{l < lanes_each ? 0 : 1});
  }
  return model;
}

}  // namespace lockstep
