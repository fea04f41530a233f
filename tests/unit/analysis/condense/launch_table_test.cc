#include "analysis/condense/launch_table.h"

#include <gtest/gtest.h>

#include <map>

namespace lockstep {
namespace {

ActivityRecord Launched(NameId kernel) {
  ActivityRecord record;
  record.launch_start_ns = 100;
  record.launch_end_ns = 110;
  record.start_ns = 130;
  record.duration_ns = 5;
  record.api = 1;
  record.name = kernel;
  return record;
}

TEST(LaunchTable, TellsCallQueueAndKernelOfEachPair) {
  LaunchTable table;
  DropCounters drops;
  table.Add(Launched(7), drops);
  ActivityRecord early = Launched(7);  // began before its call returned
  early.start_ns = 105;
  table.Add(early, drops);
  const std::vector<LaunchRow> rows = table.TakeRows();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].api_time.sum(), 20);
  EXPECT_EQ(rows[0].queue.sum(), 20);
  EXPECT_EQ(rows[0].queue_count, 1);
  EXPECT_EQ(rows[0].total.sum(), 35 + 10);
}

TEST(LaunchTable, TellsTheThreadsThatLaunchOneKernelApart) {
  LaunchTable table;
  DropCounters drops;
  for (const int64_t tid : {11, 12, 11}) {
    ActivityRecord record = Launched(7);
    record.tid = tid;
    table.Add(record, drops);
  }
  ActivityRecord absurd = Launched(7);
  absurd.tid = INT64_MAX;
  table.Add(absurd, drops);
  std::map<int64_t, int64_t> launches;
  for (const LaunchRow& row : table.TakeRows()) launches[row.tid] = row.total.count();
  EXPECT_EQ(launches, (std::map<int64_t, int64_t>{{-1, 1}, {11, 2}, {12, 1}}));
  EXPECT_EQ(table.DelayOf(1).count(), 4);
}

TEST(LaunchTable, PairsBeyondTheLimitAreOneCountedRest) {
  LaunchTable table;
  DropCounters drops;
  const auto most = static_cast<NameId>(LaunchTable::kMaxKeys);
  for (NameId kernel = 1; kernel <= most + 3; ++kernel) table.Add(Launched(kernel), drops);
  EXPECT_EQ(drops.Of(DropReason::kKeyLimit), 3);
  int64_t launches = 0;
  int64_t rest = 0;
  for (const LaunchRow& row : table.TakeRows()) {
    launches += row.total.count();
    if (row.kernel == FileInterner::rest()) rest += row.total.count();
  }
  EXPECT_EQ(launches, static_cast<int64_t>(most) + 3);
  EXPECT_EQ(rest, 3);
}

}  // namespace
}  // namespace lockstep
