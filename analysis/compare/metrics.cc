#include "analysis/compare/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "analysis/compare/parts.h"
#include "analysis/compare/statistics/resolution.h"

namespace lockstep::compare {
namespace {

constexpr std::string_view kMeanStep = "step_time_mean";
constexpr std::string_view kIdle = "idle";
constexpr double kResolveShare = 0.01;  // the change that planned repeats shall resolve

report::OptionalRange RangeOf(const Interval& interval) { return std::pair(interval.low, interval.high); }

void SetPlan(const Comparison& change, Scale scale, double step_ns, report::MetricChange& row) {
  if (change.verdict == Verdict::kNotEnoughSteps) {
    if (std::isfinite(change.steps_needed) && change.steps_needed > 0) {
      row.steps_needed = static_cast<int64_t>(std::ceil(std::min(change.steps_needed, 1e15)));
    }
    return;
  }
  const double size = scale == Scale::kLog ? std::log1p(kResolveShare) : kResolveShare * step_ns;
  if (const auto more = MoreRepeatsToResolve(change, size)) row.repeats_needed = static_cast<int64_t>(*more);
}

// A metric on the logarithmic scale has its typical level as value, one on the plain scale its mean.
report::MetricChange RowOf(std::string_view name, const SeriesComparison& compared, Scale scale, double step_ns) {
  report::MetricChange row;
  row.metric = name;
  row.unit = "ns";
  row.verdict = report::kNotEnoughWord;
  if (!compared.known) return row;
  const Comparison& change = compared.change;
  row.verdict = WordOf(change.verdict);
  row.n_eff = change.effective_steps;
  row.base = scale == Scale::kLog ? change.base_level : compared.base_mean;
  row.fresh = scale == Scale::kLog ? change.fresh_level : compared.fresh_mean;
  row.change = *row.fresh - *row.base;
  if (*row.base > 0) row.change_ratio = *row.fresh / *row.base - 1;
  SetPlan(change, scale, step_ns, row);
  if (change.verdict == Verdict::kNotEnoughSteps) return row;
  row.interval = RangeOf(change.change_ns_interval);
  if (*row.base > 0) {
    row.interval_ratio = {change.change_ns_interval.low / *row.base, change.change_ns_interval.high / *row.base};
    row.excluded_ratio = std::max(std::abs(row.interval_ratio->first), std::abs(row.interval_ratio->second));
  }
  return row;
}

// Throughput of a side: the mean over its runs; none where a run does not say.
std::optional<double> ThroughputOf(const std::vector<ComparedRun>& runs, const std::string& key) {
  double sum = 0;
  for (const ComparedRun& run : runs) {
    const auto amount = NumberOf(run.context, key);
    const std::vector<double> times = StepTimes(run);
    const double total_ns = std::accumulate(times.begin(), times.end(), 0.0);
    if (!amount || total_ns <= 0) return std::nullopt;
    sum += *amount * static_cast<double>(times.size()) / (total_ns * 1e-9);
  }
  return runs.empty() ? std::nullopt : std::optional(sum / static_cast<double>(runs.size()));
}

// The verdict is that of the step time where both sides process as much a step; otherwise there is none.
void AddThroughput(const Sides& sides, std::string_view unit, const std::string& key,
                   const report::MetricChange& step_time, std::vector<report::MetricChange>& metrics) {
  const auto base = ThroughputOf(sides.base, key);
  const auto fresh = ThroughputOf(sides.fresh, key);
  if (!base || !fresh) return;
  report::MetricChange row;
  row.metric = "throughput";
  row.unit = unit;
  row.base = base;
  row.fresh = fresh;
  row.change = *fresh - *base;
  row.change_ratio = *fresh / *base - 1;
  row.n_eff = step_time.n_eff;
  row.verdict = report::kUnclearWord;
  const auto amount = NumberOf(sides.base.front().context, key);
  bool same_amount = true;
  ForEachRun(sides, [&](const ComparedRun& run) { same_amount = same_amount && NumberOf(run.context, key) == amount; });
  if (same_amount) {
    row.verdict = step_time.verdict;
    if (const auto& range = step_time.interval_ratio; range && range->first > -1) {
      row.interval_ratio = {1 / (1 + range->second) - 1, 1 / (1 + range->first) - 1};
      row.interval = {row.interval_ratio->first * *base, row.interval_ratio->second * *base};
    }
  }
  metrics.push_back(std::move(row));
}

SeriesOfRun MeanRankSeries(report::Count report::ProfileStep::*total) {
  return SeriesOf(
      [total](const ComparedRun& run, const report::ProfileStep& step) { return MeanRank(run, step.*total); });
}

SeriesOfRun IdleSeries() {
  return SeriesOf([](const ComparedRun& run, const report::ProfileStep& step) {
    return MeanRank(run, step.idle_host_ns + step.idle_launch_ns + step.idle_dependency_ns + step.idle_other_ns);
  });
}

// What one side shows, and the other hides in another part: less of it is no gain.
void DoubtHidden(std::string_view hiding, std::span<const std::string_view> hidden, double step_ns,
                 std::vector<report::MetricChange>& metrics) {
  const report::MetricChange* const by = FindMetric(metrics, hiding);
  if (by == nullptr || !by->change || !HidesMuch(*by->change, step_ns)) return;
  const double hidden_ns = *by->change;
  for (report::MetricChange& metric : metrics) {
    if (std::find(hidden.begin(), hidden.end(), metric.metric) == hidden.end()) continue;
    if (!metric.change || !MovedInto(*metric.change, hidden_ns)) continue;
    metric.verdict = report::kUnclearWord;
    metric.interval = metric.interval_ratio = std::nullopt;
    metric.excluded_ratio = std::nullopt;
  }
}

}  // namespace

const report::MetricChange* FindMetric(const std::vector<report::MetricChange>& metrics, std::string_view name) {
  const auto found = std::find_if(metrics.begin(), metrics.end(),
                                  [&](const report::MetricChange& metric) { return metric.metric == name; });
  return found == metrics.end() ? nullptr : &*found;
}

bool HidesMuch(double change_ns, double step_ns) {
  constexpr double kMuch = 0.01;  // of the step
  return std::abs(change_ns) >= kMuch * step_ns;
}

bool MovedInto(double change_ns, double hidden_ns) {
  constexpr double kMostly = 0.5;
  return (change_ns < 0) != (hidden_ns < 0) && change_ns != 0 && std::abs(hidden_ns) >= kMostly * std::abs(change_ns);
}

MetricsOfSides CompareMetrics(const Sides& sides) {
  MetricsOfSides result;
  const SeriesComparison steps = CompareTimes(sides, StepTimes);
  result.step_time = steps.change;
  const double step_ns = std::max(steps.base_mean, steps.fresh_mean);
  const auto add = [&](std::string_view name, const SeriesComparison& compared, Scale scale) {
    result.metrics.push_back(RowOf(name, compared, scale, step_ns));
  };
  add(kStepTime, steps, Scale::kLog);
  const auto add_level = [&](std::string_view name, const SeriesOfRun& series, NoiseShare noise) {
    add(name, CompareParts(sides, series, noise, step_ns), Scale::kLevel);
  };
  add_level(kMeanStep, StepTimes, NoiseShare::kOfItself);
  for (const PartOfStep& part : kPartsOfStep) {
    add_level(part.name, MeanRankSeries(part.total), part.IsWork() ? NoiseShare::kOfItself : NoiseShare::kOfStep);
    // What is not known to be wait or transfer is no cost of its own: less of it only means that more is known.
    const bool changed = result.metrics.back().verdict != report::kSameWord;
    if (part.kind == "unresolved" && changed) result.metrics.back().verdict = report::kUnclearWord;
  }
  add_level(kIdle, IdleSeries(), NoiseShare::kOfStep);
  constexpr std::array<std::string_view, 2> kOfUnresolved = {"exposed_wait", "exposed_transfer"};
  constexpr std::array<std::string_view, 10> kOfGraphs = {
      "compute",   "exposed_wait", "exposed_transfer", "exposed_unresolved", "copy",
      "idle_host", "idle_launch",  "idle_dependency",  "idle_other",         "idle"};
  DoubtHidden("exposed_unresolved", kOfUnresolved, step_ns, result.metrics);
  DoubtHidden("opaque", kOfGraphs, step_ns, result.metrics);
  const report::MetricChange step_time = result.metrics.front();
  AddThroughput(sides, "tokens/s", kTokensPerStep, step_time, result.metrics);
  AddThroughput(sides, "samples/s", "samples_per_step", step_time, result.metrics);
  return result;
}

std::vector<std::string_view> NamesOfStepMetrics() {
  std::vector<std::string_view> names = {kStepTime, kMeanStep};
  for (const PartOfStep& part : kPartsOfStep) names.push_back(part.name);
  names.push_back(kIdle);
  return names;
}

std::vector<std::string_view> MetricNames() {
  std::vector<std::string_view> names = NamesOfStepMetrics();
  names.emplace_back("throughput");
  return names;
}

SeriesOfRun SeriesOfMetric(std::string_view name) {
  if (name == kStepTime || name == kMeanStep) return StepTimes;
  if (name == kIdle) return IdleSeries();
  for (const PartOfStep& part : kPartsOfStep) {
    if (part.name == name) return MeanRankSeries(part.total);
  }
  return {};
}

report::Noise NoiseOf(const Comparison& step_time, size_t earlier) {
  report::Noise noise;
  const NoiseFloor& floor = step_time.floor;
  noise.runs = step_time.base_runs + step_time.fresh_runs;
  switch (floor.source) {
    case FloorSource::kRepeats:
      noise.source = "repeats";
      break;
    case FloorSource::kHistory:
      noise.source = "history";
      noise.runs = earlier;
      break;
    case FloorSource::kDefault:
      noise.source = "default";
      break;
    case FloorSource::kNone:
      noise.source = "none";
      return noise;
  }
  noise.ratio = std::expm1(std::min(floor.of_a_pair, 1.0));
  return noise;
}

}  // namespace lockstep::compare
