// Many hosts that run one program: those that share collectives stand out by their common marks, and are found.
#include "analysis/metrics/match/lanes/common_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/run_builder.h"
#include "tests/unit/analysis/metrics/match/lockstep_lanes.h"

namespace lockstep {
namespace {

constexpr int64_t kSharedOffsetNs = -7'300'000;

struct FleetShape {
  size_t domains = 40;  // 2n and 2n + 1 share their collectives
  size_t rows = 500;
  double loss = 0.005;
  double jitter_ns = 3'000;             // of one job, of every pause
  int64_t offset_ns = kSharedOffsetNs;  // of the second host of a job against the first
  unsigned seed = 1;
};

std::vector<double> Program(std::mt19937& random) {
  std::vector<double> out;
  std::uniform_real_distribution<double> even(0, 1);
  for (int i = 0; i < 20; ++i) out.push_back(40'000 + (i == 0 ? 90'000 : 25'000) * even(random));
  return out;
}

// One lane a host; all jobs run one program in steps of 20 operations.
std::vector<RankLane> Fleet(const FleetShape& shape) {
  std::mt19937 random(shape.seed);
  const std::vector<double> program = Program(random);
  std::exponential_distribution<double> late(1 / shape.jitter_ns);
  std::uniform_real_distribution<double> even(0, 1);
  std::vector<RankLane> lanes;
  std::vector<double> ends;
  for (size_t d = 0; d < shape.domains; ++d) {
    if (d % 2 == 0) {
      ends.clear();
      double t = 1e9 + 1e8 * even(random);
      for (size_t i = 0; i < shape.rows; ++i) ends.push_back(t += program[i % program.size()] + late(random));
    }
    lanes.push_back(LaneOf(ends, static_cast<int32_t>(d), 0, d % 2 == 0 ? 0 : shape.offset_ns, random));
    std::erase_if(lanes.back().events, [&](const LaneEvent&) { return even(random) < shape.loss; });
  }
  return lanes;
}

std::vector<size_t> OneEach(size_t domains) {
  std::vector<size_t> out(domains);
  for (size_t d = 0; d < domains; ++d) out[d] = d;
  return out;
}

class CommonMarksOf : public testing::TestWithParam<unsigned> {};

TEST_P(CommonMarksOf, HostsThatShareCollectivesStandOutAmongHostsOfTheSameProgram) {
  FleetShape shape;
  shape.seed = GetParam();
  InlineExecutor executor;
  const Prospects prospects(FindCommonMarks(Fleet(shape), OneEach(shape.domains), executor));
  size_t others = 0;
  for (size_t a = 0; a < shape.domains; ++a) {
    for (size_t b = a + 1; b < shape.domains; ++b) {
      const std::optional<int64_t> offset = prospects.OffsetOf(a, b);
      if (a / 2 != b / 2) {
        others += offset ? 1 : 0;
        continue;
      }
      ASSERT_TRUE(offset.has_value()) << a;
      EXPECT_LT(std::abs(*offset + kSharedOffsetNs), 500'000);
      EXPECT_EQ(prospects.OffsetOf(b, a), -*offset);
    }
  }
  EXPECT_LT(others, 4 * shape.domains);
}

ClockModel OneDomainEach(const std::vector<RankLane>& lanes) {
  ClockModel out;
  for (const RankLane& lane : lanes) out.SetDomain(lane.rank_index, DomainId{lane.rank_index});
  return out;
}

ClockModel CoarseClocks(const std::vector<RankLane>& lanes) {
  InlineExecutor executor;
  return FindCoarseClocks(lanes, OneDomainEach(lanes), lanes.size(), executor);
}

// Whether the two hosts of a job come to one clock where there are no others.
bool MeetAlone(RankLane first, RankLane second) {
  first.rank_index = 0;
  second.rank_index = 1;
  const ClockModel found = CoarseClocks({std::move(first), std::move(second)});
  return found.ComponentOf(0) == found.ComponentOf(1);
}

TEST_P(CommonMarksOf, HostsThatMeetAloneMeetAmongManyAndNoOthersDo) {
  for (const size_t rows : {size_t{100}, size_t{250}, size_t{1'500}}) {
    FleetShape shape;
    shape.rows = rows;
    shape.seed = GetParam();
    const std::vector<RankLane> lanes = Fleet(shape);
    const ClockModel found = CoarseClocks(lanes);
    int32_t met = 0;
    for (int32_t a = 0; a < static_cast<int32_t>(lanes.size()); ++a) {
      for (int32_t b = a + 1; b < static_cast<int32_t>(lanes.size()); ++b) {
        const bool meet = a / 2 == b / 2 && MeetAlone(lanes[static_cast<size_t>(a)], lanes[static_cast<size_t>(b)]);
        EXPECT_EQ(found.ComponentOf(a) == found.ComponentOf(b), meet) << rows << ' ' << a << ' ' << b;
        met += meet ? 1 : 0;
      }
    }
    EXPECT_GE(met, 18) << rows;
  }
}

TEST_P(CommonMarksOf, ClocksThatAreSecondsApartAreFoundAmongManyHosts) {
  FleetShape shape;
  shape.offset_ns = 3'210'000'000;
  shape.seed = GetParam();
  const ClockModel found = CoarseClocks(Fleet(shape));
  for (int32_t a = 0; a < static_cast<int32_t>(shape.domains); a += 2) {
    ASSERT_EQ(found.ComponentOf(a), found.ComponentOf(a + 1));
    const int64_t here = found.Correction(a, LocalTime{1'050'000'000}).ns;
    const int64_t there = found.Correction(a + 1, LocalTime{1'050'000'000 + shape.offset_ns}).ns;
    EXPECT_NEAR(static_cast<double>(there - here), static_cast<double>(shape.offset_ns), 5'000);
  }
}

TEST_P(CommonMarksOf, ManyLongLanesOfEachHostAloneDoNotHideAShortOneThatTwoShare) {
  constexpr size_t kOwnLanes = 6;
  FleetShape shape;
  shape.rows = 120;
  shape.loss = 0;
  shape.seed = GetParam();
  std::vector<RankLane> lanes = Fleet(shape);
  ClockModel model = OneDomainEach(lanes);
  shape.rows = 300;
  shape.domains *= 2 * kOwnLanes;
  const std::vector<RankLane> own = Fleet(shape);
  for (size_t l = 0; l < own.size(); l += 2) {  // one of each job
    RankLane lane = own[l];
    lane.rank_index = static_cast<int32_t>(lanes.size());
    model.SetDomain(lane.rank_index, DomainId{static_cast<int32_t>(l / 2 / kOwnLanes)});
    lanes.push_back(std::move(lane));
  }
  InlineExecutor executor;
  const ClockModel found = FindCoarseClocks(lanes, model, lanes.size(), executor);
  int32_t met = 0;
  for (int32_t a = 0; a < 40; a += 2) met += found.ComponentOf(a) == found.ComponentOf(a + 1) ? 1 : 0;
  EXPECT_GE(met, 18);
}

TEST(CommonMarks, LanesOfAnyContentAreTaken) {
  InlineExecutor executor;
  std::vector<RankLane> lanes(3);
  for (int32_t l = 0; l < 3; ++l) lanes[static_cast<size_t>(l)].rank_index = l;
  for (int i = 0; i < 100; ++i) lanes[1].events.push_back({5, 5, 0});
  lanes[2].events = {{INT64_MIN / 8, INT64_MIN / 8, 0}, {INT64_MAX / 8, INT64_MAX / 8, 0}};
  EXPECT_TRUE(FindCommonMarks(lanes, {0, 1, 2}, executor).empty());
  EXPECT_TRUE(FindCommonMarks({}, {}, executor).empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CommonMarksOf, testing::Range(1U, 4U));

}  // namespace
}  // namespace lockstep
