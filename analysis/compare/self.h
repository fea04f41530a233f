// One run compared with itself (statistics/self_check.h): how often this comparison would raise a false alarm on it.
// Pure, thread safe.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "analysis/report/report.h"

namespace lockstep {
namespace report {

struct SelfMetric {
  std::string metric;
  Count deals;
  Count alarms;
  double largest_ratio = 0;

  static const Record& Fields();
};

struct SelfComparison {
  std::string schema = "lockstep.self/1";
  std::string run;
  Count steps;
  Count warm_up_steps;
  Count deals;
  Count alarms;
  std::optional<double> alarm_ratio;
  bool trustworthy = false;
  std::string sentence;
  std::vector<SelfMetric> metrics;

  static const Record& Fields();
};

}  // namespace report

namespace compare {

[[nodiscard]] report::SelfComparison CompareWithItself(const ComparedRun& run);
[[nodiscard]] std::string RenderJson(const report::SelfComparison& checked);
[[nodiscard]] std::string RenderText(const report::SelfComparison& checked, const TextOptions& options);

}  // namespace compare
}  // namespace lockstep
