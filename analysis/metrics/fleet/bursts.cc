#include "analysis/metrics/fleet/bursts.h"

#include <algorithm>

#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kMinBuckets = 16;
constexpr size_t kMinRun = 2;
constexpr size_t kMinSteps = 5;

enum class Load : uint8_t { kIdle, kBetween, kBusy };

Load LoadOf(const IntervalMeasure& measure) {
  if (5 * measure.busy_ns() > 4 * measure.span_ns) return Load::kBusy;
  return 5 * measure.idle_ns() > 4 * measure.span_ns ? Load::kIdle : Load::kBetween;
}

// Buckets from `at` on that are all like this; a hole in the grid ends the run.
size_t RunFrom(const std::vector<BucketRow>& buckets, size_t at, Load load) {
  size_t end = at;
  while (end < buckets.size() && LoadOf(buckets[end].measure) == load &&
         (end == at || buckets[end].index == buckets[end - 1].index + 1)) {
    ++end;
  }
  return end - at;
}

}  // namespace

std::optional<Bursts> FindBursts(const SourceData& source) {
  const std::vector<BucketRow>& buckets = source.buckets;
  if (buckets.size() < kMinBuckets) return std::nullopt;
  Bursts bursts;
  for (size_t at = 0; at < buckets.size();) {
    const size_t busy = RunFrom(buckets, at, Load::kBusy);
    if (busy < kMinRun) {
      ++at;
      continue;
    }
    size_t after = at + busy;
    if (after < buckets.size() && LoadOf(buckets[after].measure) == Load::kBetween) ++after;
    const size_t idle = RunFrom(buckets, after, Load::kIdle);
    if (idle >= kMinRun) {
      ++bursts.count;
      for (size_t i = at; i < at + busy; ++i) bursts.busy_ns += buckets[i].measure.busy_ns();
      for (size_t i = after; i < after + idle; ++i) bursts.idle_ns += buckets[i].measure.idle_ns();
    }
    at += busy;
  }
  return bursts;
}

std::optional<LongSteps> FindLongSteps(const Fleet& fleet, const SourceData& source) {
  std::vector<int64_t> computing;
  for (const StepRow& row : source.steps) {
    if (row.step != kNoStep && row.phase.empty() && fleet.SelectsStep(row)) computing.push_back(row.tile.compute_ns);
  }
  if (computing.size() < kMinSteps) return std::nullopt;
  LongSteps steps;
  steps.median_ns = LowerMedian(std::move(computing));
  if (steps.median_ns <= 0) return std::nullopt;
  for (const StepRow& row : source.steps) {
    if (row.step == kNoStep || !row.phase.empty() || !fleet.SelectsStep(row)) continue;
    steps.all_span_ns += row.tile.span_ns;
    if (row.tile.compute_ns / kLongStep < steps.median_ns) continue;
    ++steps.count;
    steps.span_ns += row.tile.span_ns;
    steps.longest_ns = std::max(steps.longest_ns, row.tile.compute_ns);
  }
  return steps;
}

bool Serves(const SourceData& source) {
  bool serves = false;
  for (const KernelRow& row : source.kernels) {
    if (row.kind.family == Family::kOptimizer) return false;
    serves = serves || row.kind.family == Family::kKvCache || row.kind.family == Family::kAttentionDecode;
  }
  return serves;
}

}  // namespace lockstep
