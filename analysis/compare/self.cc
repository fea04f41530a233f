#include "analysis/compare/self.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/compare/parts.h"
#include "analysis/compare/sides.h"
#include "analysis/compare/statistics/self_check.h"

namespace lockstep::compare {
namespace {

void AddMetric(std::string_view name, const std::vector<double>& values, Scale scale, double reference_ns,
               report::SelfComparison& result) {
  const SelfCheck check = CheckAgainstItself(values, scale);
  report::SelfMetric& row = result.metrics.emplace_back();
  row.metric = name;
  row.deals = check.deals;
  row.alarms = check.alarms;
  if (scale == Scale::kLog) row.largest_ratio = std::expm1(std::min(std::abs(check.largest), 50.0));
  if (scale == Scale::kLevel && reference_ns > 0) row.largest_ratio = std::abs(check.largest) / reference_ns;
  result.deals.value += row.deals.value;
  result.alarms.value += row.alarms.value;
}

std::string SelfSentence(const report::SelfComparison& result) {
  if (!result.alarm_ratio) {
    return "The run has too few steps to be compared with itself.";
  }
  const std::string share = fmt::format("{} of {} comparisons of the run with itself raise a false alarm ({:.1f} %)",
                                        result.alarms.value, result.deals.value, 100 * *result.alarm_ratio);
  if (result.trustworthy) return share + ": comparisons with this run can be trusted.";
  return share +
         ", more than the 7 % that chance explains: its steps change in the course of the run, so that a "
         "single pair of runs like this one decides little. Compare several repeats a side.";
}

}  // namespace

report::SelfComparison CompareWithItself(const ComparedRun& run) {
  report::SelfComparison result;
  result.run = run.head.name;
  result.steps = run.Steps().size();
  result.warm_up_steps = run.profile.steps.size() - run.Steps().size();
  const std::vector<double> times = StepTimes(run);
  const double reference_ns = MeanOf(times);
  AddMetric("step_time", times, Scale::kLog, reference_ns, result);
  for (const PartOfStep& part : kPartsOfStep) {
    std::vector<double> values;
    for (const report::ProfileStep& step : run.Steps()) values.push_back(MeanRank(run, step.*part.total));
    if (std::accumulate(values.begin(), values.end(), 0.0) > 0) {
      AddMetric(part.name, values, Scale::kLevel, reference_ns, result);
    }
  }
  if (result.deals.value > 0) {
    result.alarm_ratio = static_cast<double>(result.alarms.value) / static_cast<double>(result.deals.value);
    result.trustworthy = *result.alarm_ratio <= kMostFalseAlarms;
  }
  result.sentence = SelfSentence(result);
  return result;
}

}  // namespace lockstep::compare
