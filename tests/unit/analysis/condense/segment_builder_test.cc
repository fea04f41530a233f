#include "analysis/condense/segment_builder.h"

#include <gtest/gtest.h>

#include "analysis/model/instance_row.h"
#include "tests/support/time_units.h"

namespace lockstep {
namespace {

ActivityRecord Kernel(int32_t stream, int64_t start_ns, int64_t end_ns) {
  ActivityRecord record;
  record.stream = stream;
  record.start_ns = start_ns;
  record.duration_ns = end_ns - start_ns;
  record.launch_start_ns = -100 * kUs;
  record.launch_end_ns = -90 * kUs;
  return record;
}

// A collective on its own stream waits for compute that ends at 500 us; the one before it ended at 0.
Segment AfterComputeUntil(int64_t shown_start_ns) {
  SegmentBuilder builder;
  builder.Add(Kernel(2, -50 * kUs, 0), ActivitySet::kComm, 0);
  builder.Add(Kernel(1, 0, 500 * kUs), ActivitySet::kCompute, -1);
  builder.Add(Kernel(2, shown_start_ns, 600 * kUs), ActivitySet::kComm, 1);
  return builder.Before(0);
}

TEST(SegmentBuilder, WorkOnAnotherStreamThatJustEndedDeterminesTheStart) {
  const Segment segment = AfterComputeUntil(501 * kUs);
  EXPECT_EQ(segment.compute_ns, 500 * kUs);
  EXPECT_EQ(segment.launch_ns, 1 * kUs);
}

TEST(SegmentBuilder, TimesThatScatterDoNotHideWhatDeterminedTheStart) {
  const Segment early = AfterComputeUntil(499 * kUs);  // shown to start before the compute has ended
  EXPECT_EQ(early.compute_ns, 499 * kUs);
  EXPECT_EQ(early.dependency_ns, 0);
  const Segment late = AfterComputeUntil(504 * kUs);
  EXPECT_EQ(late.compute_ns, 500 * kUs);
}

TEST(SegmentBuilder, WorkThatRunsOnBesideAStartDidNotDetermineIt) {
  const Segment segment = AfterComputeUntil(450 * kUs);
  EXPECT_EQ(segment.compute_ns, 0);
  EXPECT_EQ(segment.dependency_ns, 450 * kUs);
}

TEST(SegmentBuilder, BeyondTheMostTilesTheRemainderIsRest) {
  SegmentBuilder builder;
  for (int64_t i = 0; i < 10; ++i) builder.Add(Kernel(2, 10 * i * kUs, (10 * i + 9) * kUs), ActivitySet::kComm, i);
  builder.Add(Kernel(2, 100 * kUs, 110 * kUs), ActivitySet::kComm, 10);
  const Segment all = builder.Before(0);
  EXPECT_EQ(all.tiles.size(), 10u);
  const Segment bounded = builder.Before(0, 3);
  ASSERT_EQ(bounded.tiles.size(), 3u);
  EXPECT_EQ(bounded.tiles[0].instance, 7);
  EXPECT_EQ(bounded.other_comm_ns, 27 * kUs);
  EXPECT_EQ(bounded.rest_ns, 70 * kUs);
  EXPECT_EQ(bounded.other_comm_ns + bounded.rest_ns + bounded.launch_ns + bounded.dependency_ns + bounded.host_ns,
            100 * kUs);
}

// A receive on its own stream ends at 500 us, compute launched at 520 us begins at 530 us and the collective follows
// it; the compute before ended at 100 us.
Segment AfterComputeBehindAReceive(HostWait host_wait) {
  SegmentBuilder builder;
  builder.Add(Kernel(2, -50 * kUs, 0), ActivitySet::kComm, 0);
  builder.Add(Kernel(1, 0, 100 * kUs), ActivitySet::kCompute, -1);
  builder.Add(Kernel(3, 103 * kUs, 500 * kUs), ActivitySet::kComm, 1);
  ActivityRecord compute = Kernel(1, 530 * kUs, 700 * kUs);
  compute.launch_start_ns = 520 * kUs;
  compute.launch_end_ns = 525 * kUs;
  compute.host_wait = host_wait;
  builder.Add(compute, ActivitySet::kCompute, -1);
  builder.Add(Kernel(2, 701 * kUs, 800 * kUs), ActivitySet::kComm, 2);
  return builder.Before(0);
}

TEST(SegmentBuilder, WorkThatTheHostWaitedForIsNoTimeOfTheHost) {
  const Segment segment = AfterComputeBehindAReceive({150 * kUs, 510 * kUs});
  EXPECT_EQ(segment.other_comm_ns, 397 * kUs);
  EXPECT_EQ(segment.host_ns, 25 * kUs);
  EXPECT_EQ(segment.compute_ns, 270 * kUs);
}

TEST(SegmentBuilder, AHostThatWaitedForNothingIsLateByItself) {
  for (const HostWait wait : {HostWait{}, HostWait{20 * kUs, 90 * kUs}, HostWait{505 * kUs, 510 * kUs}}) {
    const Segment segment = AfterComputeBehindAReceive(wait);
    EXPECT_EQ(segment.other_comm_ns, 0);
    EXPECT_EQ(segment.host_ns, 425 * kUs);
  }
}

}  // namespace
}  // namespace lockstep
