#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "analysis/condense/step_measures.h"
#include "analysis/condense/step_overlaps.h"
#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/row_values.h"
#include "tests/unit/analysis/condense/random_device.h"

namespace lockstep {
namespace {

// The same with ranges that nest and overlap: an activity belongs to the one begun last of those around its launch, and
// now and then runs much later.
RandomDevice NestedDevice(uint32_t seed, bool with_foreign = false) {
  RandomDevice device(seed, with_foreign);
  std::mt19937 random(seed + 1'000);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  device.steps.clear();
  for (int64_t i = 0; i < 25; ++i) {
    const int64_t start = pick(0, kLength - 300);
    const int64_t length = pick(0, 3) == 0 ? pick(500, 3'000) : pick(5, 250);
    device.steps.push_back({start, start + length, 0, 0, 0});
  }
  std::sort(device.steps.begin(), device.steps.end(), [](const StepRange& a, const StepRange& b) {
    return std::tie(a.start_ns, b.end_ns) < std::tie(b.start_ns, a.end_ns);
  });
  for (size_t i = 0; i < device.steps.size(); ++i) device.steps[i].number = static_cast<int64_t>(i);
  for (ActivityRecord& record : device.activities) {
    if (record.step == kLaunchedInNoStep && with_foreign && pick(0, 1) == 0) continue;
    record.launch_start_ns = std::max<int64_t>(0, record.start_ns - (pick(0, 3) == 0 ? pick(0, 900) : pick(0, 60)));
    record.launch_end_ns = record.launch_start_ns + 3;
    record.step = kLaunchedInNoStep;
    for (size_t i = 0; i < device.steps.size(); ++i) {
      const bool around =
          device.steps[i].start_ns <= record.launch_start_ns && record.launch_start_ns < device.steps[i].end_ns;
      if (around) record.step = static_cast<int32_t>(i);
    }
  }
  return device;
}

TEST(NestedSteps, EveryRangeThatLaunchedHasARowWithAllOfIt) {
  size_t out_of_order = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const RandomDevice device = NestedDevice(seed, seed % 2 == 1);
    std::map<int64_t, std::pair<int64_t, int64_t>> want;  // first start, last end
    std::map<int64_t, int64_t> kernels;
    for (const ActivityRecord& record : device.activities) {
      if (record.step < 0) continue;
      const auto [found, is_new] = want.emplace(record.step, std::pair(record.start_ns, record.end_ns()));
      if (!is_new) found->second.second = std::max(found->second.second, record.end_ns());
      kernels[record.step] += record.kind == DeviceKind::kKernel ? 1 : 0;
    }
    int64_t reached = device.FirstStart();
    int64_t last_number = INT64_MIN;
    std::set<int64_t> seen;
    IntervalMeasure sum;
    for (const StepRow& row : StepsIn(device.Condense())) {
      EXPECT_EQ(row.window_start_ns, reached);
      reached = row.window_end_ns;
      sum.Add(row.tile);
      if (row.step == kNoStep) continue;
      EXPECT_TRUE(seen.insert(row.step).second) << row.step;
      EXPECT_EQ(row.window_start_ns, row.first_start_ns);
      EXPECT_EQ(std::pair(row.first_start_ns, row.last_end_ns), want[row.step]);
      EXPECT_EQ(row.kernels, kernels[row.step]);
      if (row.step < last_number) ++out_of_order;
      last_number = row.step;
    }
    EXPECT_EQ(seen.size(), want.size());
    EXPECT_EQ(reached, device.LastEnd());
    ExpectEqual(sum, device.Naive(device.FirstStart(), device.LastEnd(), [](const auto&) { return true; }));
  }
  EXPECT_GT(out_of_order, 50U);
}

TEST(NestedSteps, AnyRunOfRowsHoldsTheActivitiesOfItsRangesAlone) {
  int checked = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const RandomDevice device = NestedDevice(seed, seed % 2 == 1);
    const std::vector<StepRow> rows = StepsIn(device.Condense());
    for (size_t first = rows.front().step == kNoStep ? 1 : 0; first < rows.size(); ++first) {
      std::set<int64_t> numbers;
      IntervalMeasure sum;
      int64_t to = INT64_MIN;
      for (size_t last = first; last < rows.size(); ++last) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << " rows " << first << ".." << last);
        sum.Add(rows[last].tile);
        sum.Subtract(rows[last].foreign);
        to = std::max(to, rows[last].last_end_ns);
        numbers.insert(rows[last].step);
        // A leftover of an earlier row that outlasts the whole selection has no exact inverse (see StepRow).
        const bool outlasted =
            std::any_of(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(first), [&](const StepRow& row) {
              return row.step != kNoStep && row.last_end_ns > std::min(to, rows[last].window_end_ns);
            });
        if (outlasted) continue;
        ++checked;
        IntervalMeasure run = sum;
        run.Subtract(rows[first].before);
        run.Add(rows[last].after);
        ExpectEqual(run, device.Naive(rows[first].first_start_ns, to, [&](const ActivityRecord& record) {
          return record.step >= 0 && numbers.contains(record.step);
        }));
      }
    }
  }
  EXPECT_GT(checked, 2'000);
}

std::vector<StepOverlapRow> OverlapsIn(const std::vector<Batch>& batches) {
  return batches.back().summary->step_overlaps;
}

// What the rows of overlaps tell of the steps first..last.
IntervalMeasure Told(const std::vector<StepOverlapRow>& overlaps, int64_t first, int64_t last) {
  IntervalMeasure sum;
  for (const StepOverlapRow& row : overlaps) {
    if (row.lower < first || row.upper > last) continue;
    row.lower == row.upper ? sum.Add(row.measure) : sum.Subtract(row.measure);
  }
  return sum;
}

TEST(NestedSteps, OverlapsTellWhatRunsOfAnyStepsThatFollowOneAnother) {
  size_t told = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const RandomDevice device = NestedDevice(seed, seed % 2 == 1);
    const std::vector<StepOverlapRow> overlaps = OverlapsIn(device.Condense());
    if (overlaps.empty()) continue;
    ++told;
    const auto count = static_cast<int64_t>(device.steps.size());
    for (int64_t first = 0; first < count; ++first) {
      for (int64_t last = first; last < count; ++last) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << " steps " << first << ".." << last);
        IntervalMeasure want = device.Naive(
            0, kLength, [&](const ActivityRecord& record) { return record.step >= first && record.step <= last; });
        want.span_ns -= std::exchange(want.idle_other_ns, 0);
        EXPECT_EQ(Told(overlaps, first, last), want);
      }
    }
  }
  EXPECT_GT(told, 50U);
}

// Steps of one kernel each, from the first to the last number: [start, end) of each.
std::vector<StepOverlapRow> OverlapsOf(const std::vector<std::pair<int64_t, int64_t>>& kernels) {
  RandomDevice device(1);
  device.steps.clear();
  device.activities.clear();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    device.steps.push_back({place, place + 1, place, 0, 0});
    ActivityRecord record;
    record.start_ns = kernels[i].first;
    record.duration_ns = kernels[i].second - kernels[i].first;
    record.launch_start_ns = place;
    record.launch_end_ns = place;
    record.step = static_cast<int32_t>(i);
    record.kind = DeviceKind::kMemcpy;
    device.activities.push_back(record);
  }
  std::sort(device.activities.begin(), device.activities.end(), ActivityOrder());
  return OverlapsIn(device.Condense());
}

TEST(NestedSteps, OverlapsAreNotKeptWhereTheRowsTellAll) {
  EXPECT_TRUE(OverlapsOf({{0, 100}, {100, 200}, {250, 300}}).empty()) << "one after the other";
  EXPECT_TRUE(OverlapsOf({{0, 140}, {100, 230}, {200, 300}}).empty()) << "each runs into the next";
  EXPECT_FALSE(OverlapsOf({{0, 220}, {100, 150}, {200, 300}}).empty()) << "one outlasts the next";
  EXPECT_FALSE(OverlapsOf({{100, 150}, {0, 50}, {200, 300}}).empty()) << "in another order on the device";
}

TEST(NestedSteps, OverlapsOfMoreStepsAtOnceThanTheLimitAreNotTold) {
  const auto overlaps = [](size_t at_once) {
    std::vector<std::pair<int64_t, int64_t>> kernels;
    for (size_t i = 0; i < at_once; ++i) kernels.emplace_back(static_cast<int64_t>(i), 1'000 - static_cast<int64_t>(i));
    return OverlapsOf(kernels);
  };
  EXPECT_EQ(overlaps(StepOverlaps::kMaxRunning).size(), 2 * StepOverlaps::kMaxRunning - 1);
  EXPECT_TRUE(overlaps(StepOverlaps::kMaxRunning + 1).empty());
}

TEST(NestedSteps, RowsAreTheSameWhetherOrNotItIsKnownHowManyActivitiesEachHas) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const RandomDevice device = NestedDevice(seed, seed % 2 == 1);
    EXPECT_EQ(StepsIn(device.Condense({}, device.ActivitiesByStep())), StepsIn(device.Condense())) << "seed " << seed;
  }
}

TEST(NestedSteps, RowsGoOutOnceNothingCanChangeThem) {
  const std::vector<StepRange> steps = {{0, 100, 0}, {10, 20, 1}, {30, 40, 2}, {200, 300, 3}};
  std::vector<int32_t> given;
  StepMeasures measures(steps, {2, 1, 1, 1}, [&](int32_t step, const StepRow&) { given.push_back(step); });
  int64_t t = 0;
  for (const int32_t step : {0, 1, 2, 0, 3}) {
    measures.Reach(step, t);
    measures.Start(ActivitySet::kCompute, step, t + 5);
    ActiveCounts all;
    all.Start(ActivitySet::kCompute);
    measures.Segment(t, t + 5, all);
    measures.End(ActivitySet::kCompute, step);
    // The outer range keeps those inside it waiting.
    if (step < 3) {
      EXPECT_TRUE(given.empty());
    }
    t += 5;
  }
  EXPECT_EQ(given, (std::vector<int32_t>{0, 1}));
  measures.Finish(t);
  EXPECT_EQ(given, (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST(NestedSteps, OfRangesAskedForByNameHoldNothingWhoseLaunchIsNotKnown) {
  RandomDevice device = NestedDevice(4);
  size_t unknown = 0;
  for (size_t i = 10; i < device.activities.size(); i += 7) {
    device.activities[i].step = kNoLaunchRow;
    ++unknown;
  }
  const auto members = [&](bool launched_only) {
    CondenseSelection selection;
    selection.steps = std::vector<bool>(device.steps.size(), true);
    selection.launched_only = launched_only;
    int64_t kernels = 0;
    for (const Batch& batch : device.Condense(selection, device.ActivitiesByStep())) {
      for (const KernelRow& row : batch.kernels) {
        for (const auto& [slice, sketch] : row.slices) kernels += sketch.count();
      }
    }
    return kernels;
  };
  const auto naive = [&](bool launched_only) {
    return std::count_if(device.activities.begin(), device.activities.end(), [&](const ActivityRecord& record) {
      return record.kind == DeviceKind::kKernel &&
             (record.step >= 0 || (record.step == kNoLaunchRow && !launched_only));
    });
  };
  EXPECT_GT(unknown, 10U);
  EXPECT_EQ(members(true), naive(true));
  EXPECT_EQ(members(false), naive(false));
  EXPECT_LT(naive(true), naive(false));
}

}  // namespace
}  // namespace lockstep
