#include "analysis/compare/self.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "analysis/compare/parts.h"
#include "analysis/compare/sides.h"
#include "analysis/compare/statistics/self_check.h"
#include "analysis/report/json.h"
#include "analysis/report/text/text_page.h"

namespace lockstep {
namespace report {

const Record& SelfMetric::Fields() {
  using R = SelfMetric;
  static const Record record{
      "self_metric",
      "One metric of the run.",
      {
          F<&R::metric>("metric", "Name of the metric."),
          F<&R::deals>("deals", "Number of ways in which the blocks of steps were dealt to two sides and compared."),
          F<&R::alarms>("alarms", "Number of those that were called slower or faster."),
          F<&R::largest_ratio>("largest_ratio", "Largest difference of any deal, as a share of the step time."),
      }};
  return record;
}

const Record& SelfComparison::Fields() {
  using R = SelfComparison;
  static const Record record{
      "",
      "A run compared with itself, in blocks of steps: each difference that is called one is a false alarm.",
      {
          F<&R::schema>("schema", "Name and version of the format."),
          F<&R::run>("run", "Name of the run."),
          F<&R::steps>("steps", "Number of steps that are compared, without the warm-up."),
          F<&R::warm_up_steps>("warm_up_steps", "Number of leading steps that were left out as warm-up."),
          F<&R::deals>("deals", "Number of comparisons, over all metrics."),
          F<&R::alarms>("alarms", "Number of those that raised a false alarm."),
          F<&R::alarm_ratio>("alarm_ratio", "alarms / deals. Null without a comparison."),
          F<&R::trustworthy>("trustworthy", "Whether alarm_ratio is at most 0.07: comparisons with this run hold."),
          F<&R::sentence>("sentence", "The answer in words."),
          F<&R::metrics>("metrics", "The metrics."),
      }};
  return record;
}

}  // namespace report

namespace compare {
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
  const double reference_ns =
      times.empty() ? 0 : std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
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

std::string RenderJson(const report::SelfComparison& checked) { return lockstep::RenderJson(report::ToJson(checked)); }

std::string RenderText(const report::SelfComparison& checked, const TextOptions& options) {
  using Row = report::SelfMetric;
  TextPage page(options);
  page.Line(checked.sentence, 0, 2, Emphasis::kStrong);
  page.Heading("metrics",
               fmt::format("of {} steps, after {} of warm-up", checked.steps.value, checked.warm_up_steps.value));
  page.Table(checked.metrics, {{"metric", &Row::metric},
                               {"comparisons", &Row::deals, CellKind::kCount},
                               {"false alarms", &Row::alarms, CellKind::kCount},
                               {"largest difference", &Row::largest_ratio, CellKind::kPercent}});
  return page.Take();
}

}  // namespace compare
}  // namespace lockstep
