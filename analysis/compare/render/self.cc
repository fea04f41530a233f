// A run compared with itself, as JSON and text.
#include <fmt/format.h>

#include "analysis/compare/self.h"
#include "analysis/report/json.h"
#include "analysis/report/text/text_page.h"

namespace lockstep::compare {

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

}  // namespace lockstep::compare
