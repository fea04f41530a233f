#include "analysis/compare/rows/self.h"

namespace lockstep::report {

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
          F<&R::schema>("schema", "Name and version of the format.").OneOf({kSelfSchema}),
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

}  // namespace lockstep::report
