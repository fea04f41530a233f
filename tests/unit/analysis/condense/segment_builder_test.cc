#include "analysis/condense/segment_builder.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

constexpr int64_t kUs = 1'000;

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

}  // namespace
}  // namespace lockstep
