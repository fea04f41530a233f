#include "analysis/metrics/fleet/slow_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

using testing::ElementsAre;

struct Replica {
  int64_t step_ns = 100'000;
  int32_t ranks = 2;
  int64_t kernels = 50;
};

// Replicas of some ranks, each with a group of its own.
std::vector<Communicator> AddReplicas(RunBuilder& run, const std::vector<Replica>& replicas, int64_t steps) {
  std::vector<Communicator> groups;
  int32_t rank = 0;
  for (const Replica& replica : replicas) {
    std::vector<int32_t> members;
    for (int32_t i = 0; i < replica.ranks; ++i) members.push_back(rank + i);
    for (const int32_t member : members) {
      SourceBuilder& source = run.AddRank(member);
      for (int64_t step = 0; step < steps; ++step) {
        const int64_t at = step * replica.step_ns;
        source.Step(step, at, at + replica.step_ns).kernels = replica.kernels;
      }
    }
    groups.push_back({.id = std::to_string(rank), .members = members, .size = replica.ranks});
    rank += replica.ranks;
  }
  return groups;
}

std::optional<SlowPart> SlowPartOf(const std::vector<Replica>& replicas, int64_t steps = 20) {
  RunBuilder run;
  std::vector<Communicator> groups = AddReplicas(run, replicas, steps);
  FleetFixture fixture(run);
  fixture.match.communicators = std::move(groups);
  return FindSlowPart(fixture.Make());
}

TEST(SlowPart, IsTheReplicaWhoseStepsTakeLonger) {
  const auto slow = SlowPartOf({{}, {.step_ns = 180'000}, {.step_ns = 104'000}});
  ASSERT_TRUE(slow.has_value());
  EXPECT_THAT(slow->members, ElementsAre(2, 3));
  EXPECT_EQ(slow->step_ns, 180'000);
  EXPECT_EQ(slow->others_step_ns, 104'000) << "the upper one of two";
}

TEST(SlowPart, IsNoneWhereReplicasDifferByLittle) {
  EXPECT_FALSE(SlowPartOf({{}, {.step_ns = 104'000}, {}}));
  EXPECT_FALSE(SlowPartOf({{}, {.step_ns = 180'000}, {.step_ns = 176'000}})) << "two of three are as slow";
}

TEST(SlowPart, IsNoneWhereReplicasMayDoOtherWork) {
  EXPECT_FALSE(SlowPartOf({{}, {.step_ns = 180'000, .kernels = 60}, {}}));
  EXPECT_FALSE(SlowPartOf({{}, {.step_ns = 180'000, .ranks = 3}, {}}));
}

TEST(SlowPart, IsNoneWhereItIsNotKnownWhoIsJoined) {
  RunBuilder run;
  std::vector<Communicator> groups = AddReplicas(run, {{}, {.step_ns = 180'000}}, 20);
  FleetFixture fixture(run);
  fixture.match.communicators = groups;
  EXPECT_TRUE(FindSlowPart(fixture.Make()));
  fixture.match.communicators.push_back({.id = "of whom is not told"});
  EXPECT_FALSE(FindSlowPart(fixture.Make()));
  fixture.match.communicators.back().members = {1, 2};
  EXPECT_FALSE(FindSlowPart(fixture.Make())) << "joined";
  fixture.match.communicators.back().members = {1, 9};
  EXPECT_TRUE(FindSlowPart(fixture.Make()));
  fixture.match.communicators.push_back({.id = "of one that has no trace", .members = {9, 2}, .size = 2});
  EXPECT_FALSE(FindSlowPart(fixture.Make())) << "joined by a rank without a trace";
}

TEST(SlowPart, IsNoneOfARunThatCollectivesJoinAndOfRanksThatRunAlone) {
  EXPECT_FALSE(SlowPartOf({{.ranks = 4}}));
  EXPECT_FALSE(SlowPartOf({{.ranks = 1}, {.step_ns = 180'000, .ranks = 1}}));
  EXPECT_FALSE(SlowPartOf({{}, {.step_ns = 180'000}}, 7)) << "too few steps";
}

}  // namespace
}  // namespace lockstep
