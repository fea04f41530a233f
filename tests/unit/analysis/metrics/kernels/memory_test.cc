#include "analysis/metrics/kernels/memory.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/metrics/fleet_fixture.h"

namespace lockstep {
namespace {

MemoryRow Copies(CopyKind kind, MemoryKind source, int64_t operations, int64_t duration_ns, int64_t bytes) {
  MemoryRow row;
  row.kind = kind;
  row.source = source;
  row.target = MemoryKind::kDevice;
  row.blocking = 1;
  row.duration.Add(duration_ns, operations);
  row.bytes.Add(bytes, operations);
  return row;
}

TEST(Memory, SumsOneKindOverRanksAndKindsOfMemory) {
  RunBuilder run;
  run.AddRank(0).data().memory = {Copies(CopyKind::kHostToDevice, MemoryKind::kPageable, 2, 100, 64)};
  run.AddRank(1).data().memory = {Copies(CopyKind::kHostToDevice, MemoryKind::kPinned, 3, 10, 8)};
  const FleetFixture fixture(run);
  const auto groups = ComputeMemory(fixture.Make());
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, "host_to_device");
  EXPECT_EQ(groups[0].operations, 5);
  EXPECT_EQ(groups[0].total_ns, 230);
  EXPECT_EQ(groups[0].bytes.sum(), 152);
  EXPECT_EQ(groups[0].blocking, 2);
  ASSERT_EQ(groups[0].places.size(), 2u);
  EXPECT_EQ(groups[0].places[0].source, MemoryKind::kPageable);
}

TEST(Memory, IsSortedByTotalTime) {
  RunBuilder run;
  MemoryRow memset;
  memset.is_memset = true;
  memset.duration.Add(5);
  run.AddRank(0).data().memory = {memset, Copies(CopyKind::kDeviceToHost, MemoryKind::kDevice, 1, 9, 1)};
  const FleetFixture fixture(run);
  const auto groups = ComputeMemory(fixture.Make());
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].kind, "device_to_host");
  EXPECT_EQ(groups[1].kind, "memset");
}

}  // namespace
}  // namespace lockstep
