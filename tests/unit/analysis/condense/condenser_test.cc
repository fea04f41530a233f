#include "analysis/condense/condenser.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/condense/gap.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "tests/unit/analysis/condense/random_device.h"

namespace lockstep {
namespace {

TEST(Condenser, TilesOfTheStepsAddUpToTheWholeSpan) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const RandomDevice device(seed, seed % 2 == 1);
    IntervalMeasure sum;
    int64_t reached = device.FirstStart();
    for (const StepRow& row : StepsIn(device.Condense())) {
      EXPECT_EQ(row.window_start_ns, reached);
      reached = row.window_end_ns;
      sum.Add(row.tile);
    }
    EXPECT_EQ(reached, device.LastEnd());
    ExpectEqual(sum, device.Naive(device.FirstStart(), device.LastEnd(), [](const auto&) { return true; }));
    EXPECT_EQ(sum.compute_ns + sum.exposed_comm_ns() + sum.copy_only_ns + sum.opaque_only_ns + sum.idle_ns(),
              sum.span_ns);
  }
}

TEST(Condenser, SelectingStepsByLaunchEqualsTheActivitiesOfThoseStepsAlone) {
  int checked = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const RandomDevice device(seed);
    const std::vector<StepRow> rows = StepsIn(device.Condense());
    for (size_t first = 0; first < rows.size(); ++first) {
      for (size_t last = first; last < rows.size(); ++last) {
        if (rows[first].step == kNoStep) continue;
        IntervalMeasure sum;
        int64_t from = INT64_MAX;
        int64_t to = INT64_MIN;
        for (size_t i = first; i <= last; ++i) {
          sum.Add(rows[i].tile);
          sum.Subtract(rows[i].foreign);
          from = std::min(from, rows[i].first_start_ns);
          to = std::max(to, rows[i].last_end_ns);
        }
        sum.Subtract(rows[first].before);
        sum.Add(rows[last].after);
        const auto chosen = [&](const ActivityRecord& record) {
          if (record.step < 0) return false;
          const int64_t number = device.steps[static_cast<size_t>(record.step)].number;
          return number >= rows[first].step && number <= rows[last].step;
        };
        SCOPED_TRACE(testing::Message() << "seed " << seed << " steps " << rows[first].step << ".." << rows[last].step);
        // A step whose window begins before its own first activity (an earlier one overtook it) has no exact inverse.
        if (rows[first].window_start_ns != from) continue;
        // Nor has a leftover of an earlier step that outlasts the whole selection (see StepRow).
        const bool outlasted = std::any_of(device.activities.begin(), device.activities.end(), [&](const auto& record) {
          return record.step >= 0 && device.steps[static_cast<size_t>(record.step)].number < rows[first].step &&
                 record.end_ns() > std::min(to, rows[last].window_end_ns);
        });
        if (outlasted) continue;
        ++checked;
        ExpectEqual(sum, device.Naive(from, to, chosen));
      }
    }
  }
  EXPECT_GT(checked, 500);
}

TEST(Condenser, ActivitiesOfNoStepAreTakenOutOfTheSteps) {
  RandomDevice device(3);
  device.activities.clear();
  const auto add = [&](int64_t start, int64_t duration, int32_t step) {
    ActivityRecord record;
    record.start_ns = start;
    record.duration_ns = duration;
    record.stream = 7;
    record.launch_start_ns = record.launch_end_ns = start;
    record.step = step;
    record.name = 0;
    device.activities.push_back(record);
  };
  add(100, 50, 0);
  add(200, 50, kLaunchedInNoStep);
  add(300, 50, 0);
  add(400, 50, kLaunchedInNoStep);
  add(500, 50, 1);
  const std::vector<StepRow> rows = StepsIn(device.Condense());
  ASSERT_EQ(rows.size(), 2U);
  IntervalMeasure step = rows[0].tile;
  step.Subtract(rows[0].foreign);
  step.Subtract(rows[0].before);
  step.Add(rows[0].after);
  EXPECT_EQ(step.compute_ns, 100);
  EXPECT_EQ(step.span_ns, 250);
  EXPECT_EQ(step.idle_ns(), 150);
}

TEST(Condenser, BucketsAddUpToTheSpanAndLieOnTheGrid) {
  const RandomDevice device(11);
  IntervalMeasure sum;
  int64_t previous = INT64_MIN;
  for (const Batch& batch : device.Condense()) {
    for (const BucketRow& row : batch.buckets) {
      EXPECT_GT(row.index, previous);
      previous = row.index;
      EXPECT_LE(row.measure.span_ns, device.context.bucket_ns);
      sum.Add(row.measure);
    }
  }
  ExpectEqual(sum, device.Naive(device.FirstStart(), device.LastEnd(), [](const auto&) { return true; }));
}

TEST(Condenser, CoverIsTheComputeInsideEachInstance) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const RandomDevice device(seed);
    std::vector<bool> compute(kLength, false);
    for (const ActivityRecord& record : device.activities) {
      if (device.SetOf(record) != ActivitySet::kCompute) continue;
      std::fill(compute.begin() + record.start_ns, compute.begin() + record.end_ns(), true);
    }
    for (const Batch& batch : device.Condense()) {
      for (const InstanceRow& row : batch.instances) {
        std::vector<bool> covered(kLength, false);
        int64_t t = row.start_ns;
        for (const auto& [gap, length] : row.cover) {
          t += gap;
          std::fill(covered.begin() + t, covered.begin() + t + length, true);
          t += length;
        }
        EXPECT_LE(t, row.end_ns());
        for (int64_t i = row.start_ns; i < row.end_ns(); ++i) {
          EXPECT_EQ(covered[static_cast<size_t>(i)], compute[static_cast<size_t>(i)]) << "seed " << seed << " at " << i;
        }
      }
    }
  }
}

TEST(Condenser, SegmentPartsTileTheTimeBetweenInstancesExactly) {
  int64_t segments = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const RandomDevice device(seed);
    int64_t previous_start = INT64_MIN;
    for (const Batch& batch : device.Condense()) {
      for (const InstanceRow& row : batch.instances) {
        EXPECT_GE(row.start_ns, previous_start);
        previous_start = row.start_ns;
        const Segment& s = row.segment;
        if (s.begin_ns == kNoTime) continue;
        ++segments;
        int64_t tiles = 0;
        for (const OtherCommTile& tile : s.tiles) tiles += tile.length_ns;
        EXPECT_EQ(tiles, s.other_comm_ns);
        EXPECT_EQ(s.begin_ns + s.compute_ns + s.copy_ns + s.other_comm_ns + s.host_ns + s.launch_ns + s.dependency_ns +
                      s.rest_ns,
                  row.start_ns);
      }
    }
  }
  EXPECT_GT(segments, 100);
}

TEST(Condenser, KernelTotalsAreExact) {
  const RandomDevice device(5);
  std::map<std::string, std::pair<int64_t, int64_t>> want;
  for (const ActivityRecord& record : device.activities) {
    if (record.kind != DeviceKind::kKernel) continue;
    auto& [count, total] = want[device.names.NameOf(record.name)];
    ++count;
    total += record.duration_ns;
  }
  std::map<std::string, std::pair<int64_t, int64_t>> got;
  std::vector<std::string> dictionary;
  for (const Batch& batch : device.Condense()) {
    for (const NameDef& name : batch.names) dictionary.push_back(name.text);
    for (const KernelRow& row : batch.kernels) {
      for (const auto& [slice, sketch] : row.slices) {
        got[dictionary[row.name]].first += sketch.count();
        got[dictionary[row.name]].second += sketch.sum();
      }
    }
  }
  EXPECT_EQ(got, want);
}

// Number and time of the kernels and copies, the gaps and the streams' idle time of some batches.
struct Tables {
  int64_t kernels = 0;
  int64_t kernel_ns = 0;
  int64_t copies = 0;
  int64_t gaps = 0;
  int64_t gap_ns = 0;
  std::map<int32_t, int64_t> stream_idle_ns;
  friend bool operator==(const Tables&, const Tables&) = default;
};

Tables TablesOf(const std::vector<Batch>& batches) {
  Tables tables;
  for (const Batch& batch : batches) {
    for (const KernelRow& row : batch.kernels) {
      for (const auto& [slice, sketch] : row.slices) {
        tables.kernels += sketch.count();
        tables.kernel_ns += sketch.sum();
      }
    }
    for (const MemoryRow& row : batch.memory) tables.copies += row.duration.count();
  }
  const SourceSummary& summary = *batches.back().summary;
  tables.gaps = summary.gaps.count();
  tables.gap_ns = summary.gaps.sum();
  for (const StreamIdleRow& row : summary.streams) {
    tables.stream_idle_ns[row.stream] = row.host_wait_ns + row.kernel_wait_ns + row.other_ns;
  }
  return tables;
}

// Of the chosen activities alone; gaps are those between them.
template <typename Choose>
Tables NaiveTables(const RandomDevice& device, const Choose& choose) {
  Tables tables;
  std::map<int32_t, int64_t> ends;
  int64_t reached = INT64_MAX;
  for (const ActivityRecord& record : device.activities) {
    if (!choose(record)) continue;
    if (record.kind == DeviceKind::kKernel) ++tables.kernels;
    if (record.kind == DeviceKind::kKernel) tables.kernel_ns += record.duration_ns;
    if (record.kind == DeviceKind::kMemcpy) ++tables.copies;
    if (record.start_ns > reached) {
      ++tables.gaps;
      tables.gap_ns += record.start_ns - reached;
    }
    reached = reached == INT64_MAX ? record.end_ns() : std::max(reached, record.end_ns());
    const auto [end, is_new] = ends.emplace(record.stream, record.end_ns());
    int64_t& idle = tables.stream_idle_ns[record.stream];
    if (!is_new) idle += std::max<int64_t>(0, record.start_ns - end->second);
    end->second = std::max(end->second, record.end_ns());
  }
  return tables;
}

TEST(Condenser, TablesHoldTheSelectedStepsAloneAndTheStepsStayWhole) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const RandomDevice device(seed, true);
    CondenseSelection selection;
    selection.steps = {false, false, true, true, false, false};
    const std::vector<Batch> batches = device.Condense(selection);
    EXPECT_EQ(TablesOf(batches),
              NaiveTables(device, [](const ActivityRecord& r) { return r.step == 2 || r.step == 3; }))
        << "seed " << seed;
    EXPECT_EQ(StepsIn(batches), StepsIn(device.Condense()));
  }
}

TEST(Condenser, TablesHoldWhatStartsInTheSelectedTimeAndBucketsWhatLiesInIt) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const RandomDevice device(seed, true);
    CondenseSelection selection;
    selection.time_ns = {1'003, 2'517};
    const std::vector<Batch> batches = device.Condense(selection);
    const Tables got = TablesOf(batches);
    const Tables want = NaiveTables(
        device, [](const ActivityRecord& record) { return record.start_ns >= 1'003 && record.start_ns < 2'517; });
    EXPECT_EQ(std::tie(got.kernels, got.kernel_ns, got.copies), std::tie(want.kernels, want.kernel_ns, want.copies));
    EXPECT_EQ(got.stream_idle_ns, want.stream_idle_ns);
    IntervalMeasure sum;
    for (const Batch& batch : batches) {
      for (const BucketRow& row : batch.buckets) sum.Add(row.measure);
    }
    ExpectEqual(sum, device.Naive(1'003, 2'517, [](const auto&) { return true; }));
    EXPECT_EQ(got.gap_ns, sum.idle_ns());
  }
}

TEST(Condenser, TheLastBatchAndOnlyItSaysHowManyThereAre) {
  const std::vector<Batch> batches = RandomDevice(8).Condense();
  for (size_t i = 0; i < batches.size(); ++i) {
    EXPECT_EQ(batches[i].sequence, static_cast<int64_t>(i));
    EXPECT_EQ(batches[i].total_batches.has_value(), i + 1 == batches.size());
  }
  EXPECT_EQ(batches.back().total_batches, static_cast<int64_t>(batches.size()));
}

TEST(Gap, HostTimeEndsWithTheLaunchCallAndAShortRestIsLaunch) {
  const Gap gap = ClassifyGap(100, 20'000, 8'000, false);
  EXPECT_EQ(gap.host_end_ns, 8'000);
  EXPECT_EQ(gap.rest, GapRest::kLaunch);
}

TEST(Gap, ALongRestIsADependencyOnlyIfAWaitWasRecorded) {
  EXPECT_EQ(ClassifyGap(0, 50'000, 10, true).rest, GapRest::kDependency);
  EXPECT_EQ(ClassifyGap(0, 50'000, 10, false).rest, GapRest::kOther);
}

TEST(Gap, WithoutALaunchRowTheWholeGapIsOther) {
  const Gap gap = ClassifyGap(100, 200, kNoTime, true);
  EXPECT_EQ(gap.host_end_ns, 100);
  EXPECT_EQ(gap.rest, GapRest::kOther);
}

TEST(Widths, AreTheSmallestPowersOfTwoOnTheirGrids) {
  EXPECT_EQ(SliceWidth(1'000'000'000), 67'108'864);
  EXPECT_LT(1'000'000'000 / SliceWidth(1'000'000'000), 16);
  EXPECT_GE(1'000'000'000 / SliceWidth(1'000'000'000), 8);
  EXPECT_GE(1'000'000'000 / BucketWidth(1'000'000'000), 256);
  EXPECT_EQ(SliceWidth(0), 1);
}

}  // namespace
}  // namespace lockstep
