// A small random device and the naive measures of what runs on it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analysis/condense/condenser.h"
#include "analysis/condense/interval_sets.h"
#include "analysis/model/batch.h"

namespace lockstep {

inline constexpr int64_t kLength = 4'000;

// Everything within [0, kLength) ns, so that a bitmap per set is an oracle.
struct RandomDevice {
  FileInterner names;
  DropCounters drops;
  std::vector<StepRange> steps;
  std::vector<ActivityRecord> activities;
  SourceContext context;

  explicit RandomDevice(uint32_t seed, bool with_foreign = false) {
    std::mt19937 random(seed);
    const NameId compute = names.Name("gemm_kernel", drops);
    const NameId comm = names.Name("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", drops);
    for (int64_t s = 0; s < 6; ++s) steps.push_back({s * 600, s * 600 + 600, 100 + s, 0, names.Name("step", drops)});
    const auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    for (int i = 0; i < 120; ++i) {
      ActivityRecord record;
      record.start_ns = pick(0, kLength - 200);
      record.duration_ns = pick(0, 9) == 0 ? 0 : pick(1, pick(0, 5) == 0 ? 180 : 40);
      record.stream = static_cast<int32_t>(pick(7, 9));
      record.launch_start_ns = std::max<int64_t>(0, record.start_ns - pick(0, 60));
      record.launch_end_ns = record.launch_start_ns + pick(1, 30);
      record.step = StepAt(steps, record.launch_start_ns);
      if (record.step > 0 && pick(0, 9) == 0) --record.step;  // runs late, in a later window
      if (with_foreign && pick(0, 5) == 0) record.step = kLaunchedInNoStep;
      const int64_t kind = pick(0, 3);
      record.kind = kind == 2                      ? DeviceKind::kMemcpy
                    : kind == 3 && pick(0, 4) == 0 ? DeviceKind::kGraphSpan
                                                   : DeviceKind::kKernel;
      record.name = kind == 1 ? comm : compute;
      activities.push_back(record);
    }
    std::sort(activities.begin(), activities.end(), ActivityOrder());
    context.slice_ns = SliceWidth(kLength);
    context.bucket_ns = BucketWidth(kLength);
  }

  [[nodiscard]] ActivitySet SetOf(const ActivityRecord& record) const {
    if (record.kind == DeviceKind::kMemcpy) return ActivitySet::kCopy;
    if (record.kind == DeviceKind::kGraphSpan) return ActivitySet::kOpaque;
    return names.NameOf(record.name).starts_with("nccl") ? ActivitySet::kComm : ActivitySet::kCompute;
  }

  // How many of the activities each step launched.
  [[nodiscard]] std::vector<uint32_t> ActivitiesByStep() const {
    std::vector<uint32_t> counts(steps.size(), 0);
    for (const ActivityRecord& record : activities) {
      if (record.step >= 0) ++counts[static_cast<size_t>(record.step)];
    }
    return counts;
  }

  [[nodiscard]] std::vector<Batch> Condense(const CondenseSelection& selection = {},
                                            const std::vector<uint32_t>& activities_by_step = {}) const {
    std::vector<Batch> batches;
    Condenser condenser(CondenseInput{context,
                                      names,
                                      steps,
                                      std::vector<HostOfStep>(steps.size(), {.launches = 3}),
                                      {},
                                      selection,
                                      activities_by_step},
                        [&](Batch batch) {
                          batches.push_back(std::move(batch));
                          return absl::OkStatus();
                        });
    for (const ActivityRecord& record : activities) EXPECT_TRUE(condenser.Add(record).ok());
    EXPECT_TRUE(condenser.Finish({}, {}).ok());
    return batches;
  }

  // Measure of the chosen activities over [from, to), instant by instant. Idle is one number here.
  template <typename Choose>
  [[nodiscard]] IntervalMeasure Naive(int64_t from, int64_t to, const Choose& choose) const {
    std::vector<ActiveCounts> at(static_cast<size_t>(kLength));
    for (const ActivityRecord& record : activities) {
      if (!choose(record)) continue;
      for (int64_t t = record.start_ns; t < record.end_ns(); ++t) at[static_cast<size_t>(t)].Start(SetOf(record));
    }
    IntervalMeasure measure;
    for (int64_t t = from; t < to; ++t) AddSegment(measure, at[static_cast<size_t>(t)], 1);
    return measure;
  }

  [[nodiscard]] int64_t FirstStart() const { return activities.front().start_ns; }
  [[nodiscard]] int64_t LastEnd() const {
    int64_t last = 0;
    for (const ActivityRecord& record : activities) last = std::max(last, record.end_ns());
    return last;
  }
};

// Which kind of idle an instant is depends on launches; the oracle knows only how much of it there is.
inline IntervalMeasure WithIdleAsOne(IntervalMeasure measure) {
  measure.idle_other_ns = measure.idle_ns();
  measure.idle_host_ns = measure.idle_launch_ns = measure.idle_dependency_ns = 0;
  return measure;
}

inline void ExpectEqual(const IntervalMeasure& got, const IntervalMeasure& want) {
  const IntervalMeasure a = WithIdleAsOne(got);
  EXPECT_EQ(a.span_ns, want.span_ns);
  EXPECT_EQ(a.compute_ns, want.compute_ns);
  EXPECT_EQ(a.comm_ns, want.comm_ns);
  EXPECT_EQ(a.copy_ns, want.copy_ns);
  EXPECT_EQ(a.opaque_ns, want.opaque_ns);
  EXPECT_EQ(a.overlap_ns, want.overlap_ns);
  EXPECT_EQ(a.strict_exposed_comm_ns, want.strict_exposed_comm_ns);
  EXPECT_EQ(a.copy_only_ns, want.copy_only_ns);
  EXPECT_EQ(a.opaque_only_ns, want.opaque_only_ns);
  EXPECT_EQ(a.idle_other_ns, want.idle_other_ns);
}

inline std::vector<StepRow> StepsIn(const std::vector<Batch>& batches) {
  std::vector<StepRow> rows;
  for (const Batch& batch : batches) rows.insert(rows.end(), batch.steps.begin(), batch.steps.end());
  return rows;
}

}  // namespace lockstep
