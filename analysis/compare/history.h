// A metric over the runs of one context, and the runs that changed it (statistics/change_points.h). Runs are added one
// by one, and only what the history needs of each is kept; the ledger of a change is made from two runs that the caller
// reads again. Pure; not thread safe.
#pragma once

#include <absl/status/status.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "analysis/compare/rows/history.h"
#include "analysis/compare/sides.h"
#include "analysis/report/report.h"

namespace lockstep::compare {

class HistoryOfRuns {
 public:
  // `metric` is a metric of the step (metrics.h). `context` restricts the runs: their values must be equal.
  // kInvalidArgument: there is no such metric.
  static absl::StatusOr<HistoryOfRuns> Make(std::string_view metric, RunContext context);

  // In any order.
  void Add(const ComparedRun& run);
  // A run that cannot be read, and why.
  void LeaveOut(std::string name, std::string reason);

  // Orders the runs by time (those whose captures overlap, by name), leaves those out whose number of ranks or GPU is
  // not the newest run's, and finds the changes. Returns the names of the runs before and after each change. Call it
  // once, after the last Add.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> FindChanges();
  // What changed from the run before to the first of the new level, by place in that list.
  void Explain(size_t change, const ComparedRun& before, const ComparedRun& after);
  [[nodiscard]] report::History Take();

 private:
  struct Point {
    report::HistoryRun row;
    RunContext context;
    int64_t start_ns = 0;  // of the capture
    int64_t end_ns = 0;
  };

  HistoryOfRuns(std::string_view metric, SeriesOfRun series, RunContext context)
      : series_(std::move(series)), context_(std::move(context)) {
    history_.metric = metric;
    history_.unit = "ns";
  }
  [[nodiscard]] bool IsMeant(const ComparedRun& run);
  void KeepComparable();
  void OrderByTime();

  SeriesOfRun series_;
  RunContext context_;
  std::vector<Point> points_;
  report::History history_;
};

[[nodiscard]] std::string RenderJson(const report::History& history);
[[nodiscard]] std::string RenderText(const report::History& history, const TextOptions& options);
[[nodiscard]] std::string RenderCsv(const report::History& history);

}  // namespace lockstep::compare
