// The document "lockstep.self/1": a run compared with itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

inline constexpr std::string_view kSelfSchema = "lockstep.self/1";

struct SelfMetric {
  std::string metric;
  Count deals;
  Count alarms;
  double largest_ratio = 0;

  static const Record& Fields();
};

struct SelfComparison {
  std::string schema = std::string(kSelfSchema);
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

}  // namespace lockstep::report
