#include "analysis/compare/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/base/natural_order.h"
#include "analysis/base/saturating.h"
#include "analysis/base/unit_text.h"
#include "analysis/compare/comparability.h"
#include "analysis/compare/ledger.h"
#include "analysis/compare/metrics.h"
#include "analysis/compare/statistics/change_points.h"
#include "analysis/compare/words.h"

namespace lockstep::compare {
namespace {

// Runs that differ in one of these are no history of one job.
constexpr std::array<std::string_view, 2> kKeysOfOneJob = {"gpu", "ranks"};

std::string ValueOr(const RunContext& context, std::string_view key) {
  const auto found = context.find(std::string(key));
  return found == context.end() ? "" : found->second;
}

std::string SentenceOf(const report::HistoryChange& change, std::string_view metric) {
  return fmt::format("from run '{}' on, {} is {} {}: {} instead of {}", change.run, metric,
                     PlainPercent(std::abs(change.change_ratio)), change.change_ratio > 0 ? "longer" : "shorter",
                     TimeText(change.after), TimeText(change.before));
}

std::string SentenceOf(const report::History& history) {
  const size_t runs = history.runs.size();
  if (runs < kFewestRunsOfASeries) {
    return fmt::format("{} run{} can be compared; a change can be found from {} runs on.", runs, runs == 1 ? "" : "s",
                       kFewestRunsOfASeries);
  }
  if (history.changes.empty()) return fmt::format("No change of {} is found in {} runs.", history.metric, runs);
  return fmt::format("{} changed {} in {} runs.", history.metric,
                     history.changes.size() == 1 ? "once" : fmt::format("{} times", history.changes.size()), runs);
}

}  // namespace

absl::StatusOr<HistoryOfRuns> HistoryOfRuns::Make(std::string_view metric, RunContext context) {
  SeriesOfRun series = SeriesOfMetric(metric);
  if (!series) {
    return absl::InvalidArgumentError(fmt::format("--metric: there is no metric '{}' of a history; the metrics are {}",
                                                  metric, fmt::join(NamesOfStepMetrics(), ", ")));
  }
  return HistoryOfRuns(metric, std::move(series), std::move(context));
}

bool HistoryOfRuns::IsMeant(const ComparedRun& run) {
  for (const auto& [key, value] : context_) {
    const std::string own = ValueOr(run.context, key);
    if (own == value) continue;
    LeaveOut(run.head.name,
             own.empty() ? fmt::format("its context has no {}", key) : fmt::format("its {} is {}", key, own));
    return false;
  }
  return true;
}

void HistoryOfRuns::Add(const ComparedRun& run) {
  if (!IsMeant(run)) return;
  const std::vector<double> values = series_(run);
  const bool is_log = history_.metric == kStepTime;
  const RunEstimate estimate = EstimateRun(values, is_log ? Scale::kLog : Scale::kLevel);
  if (values.empty() || estimate.steps == 0) return LeaveOut(run.head.name, "it has no steps");
  Point point;
  point.row.name = run.head.name;
  if (run.head.start_unix_ns.value != 0) point.row.start_unix_ns = run.head.start_unix_ns;
  point.row.steps = values.size();
  point.row.value = is_log ? std::exp(estimate.level) : estimate.level;
  if (estimate.effective >= kFewestEffectiveSteps) {
    point.row.error = is_log ? estimate.error * point.row.value : estimate.error;
  }
  point.context = run.context;
  point.start_ns = run.head.start_unix_ns.value;
  point.end_ns = AddStopping(point.start_ns, run.head.span_ns.value);
  points_.push_back(std::move(point));
}

void HistoryOfRuns::LeaveOut(std::string name, std::string reason) {
  history_.left_out.push_back({std::move(name), std::move(reason)});
}

void HistoryOfRuns::KeepComparable() {
  if (points_.empty()) return;
  const RunContext newest = points_.back().context;
  std::erase_if(points_, [&](const Point& point) {
    for (const std::string_view key : kKeysOfOneJob) {
      const std::string own = ValueOr(point.context, key);
      const std::string wanted = ValueOr(newest, key);
      if (own == wanted) continue;
      LeaveOut(point.row.name, fmt::format("its {} is {}, and that of the newest run {}", key,
                                           own.empty() ? "not known" : own, wanted.empty() ? "not known" : wanted));
      return true;
    }
    return false;
  });
}

// Runs of one job follow each other. Where their captures overlap, their times are not to be believed, as those of
// simulated runs, which all begin at one time: then their names decide.
void HistoryOfRuns::OrderByTime() {
  const auto by_start = [](const Point& a, const Point& b) { return a.start_ns < b.start_ns; };
  const auto by_name = [](const Point& a, const Point& b) { return NaturalPathLess(a.row.name, b.row.name); };
  std::stable_sort(points_.begin(), points_.end(), by_start);
  for (auto begin = points_.begin(); begin != points_.end();) {
    int64_t end_ns = begin->end_ns;
    auto end = begin + 1;
    for (; end != points_.end() && end->start_ns < end_ns; ++end) end_ns = std::max(end_ns, end->end_ns);
    std::stable_sort(begin, end, by_name);
    begin = end;
  }
}

std::vector<std::pair<std::string, std::string>> HistoryOfRuns::FindChanges() {
  OrderByTime();
  KeepComparable();
  const bool is_log = history_.metric == kStepTime;
  std::vector<double> levels;
  for (Point& point : points_) {
    levels.push_back(is_log ? std::log(point.row.value) : point.row.value);
    history_.runs.push_back(point.row);
  }
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const ChangePoint& found : ChangePointsOf(levels)) {
    history_.runs[found.first].begins_level = true;
    report::HistoryChange& change = history_.changes.emplace_back();
    change.run = history_.runs[found.first].name;
    change.previous_run = history_.runs[found.first - 1].name;
    change.before = is_log ? std::exp(found.before) : found.before;
    change.after = is_log ? std::exp(found.after) : found.after;
    change.change_ratio = change.before > 0 ? change.after / change.before - 1 : 0;
    change.p = found.p;
    change.sentence = SentenceOf(change, history_.metric);
    pairs.emplace_back(change.previous_run, change.run);
  }
  history_.sentence = SentenceOf(history_);
  return pairs;
}

void HistoryOfRuns::Explain(size_t change, const ComparedRun& before, const ComparedRun& after) {
  Sides sides;
  sides.base.push_back(before);
  sides.fresh.push_back(after);
  report::HistoryChange& row = history_.changes.at(change);
  row.context = ComparabilityOf(sides, std::nullopt).differences;
  row.ledger = LedgerOf(sides);
}

report::History HistoryOfRuns::Take() { return std::move(history_); }

}  // namespace lockstep::compare
