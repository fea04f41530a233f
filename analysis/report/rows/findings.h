// Rows of the view findings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct Evidence {
  std::string metric;
  double value = 0;
  double threshold = 0;
  std::optional<std::string> where;

  static const Record& Fields();
};

struct FindingRow {
  std::string id;
  std::string severity;
  std::string title;
  std::vector<Evidence> evidence;
  std::optional<std::string> cause;
  std::string next_action;
  std::optional<double> saving_ratio;

  static const Record& Fields();
};

}  // namespace lockstep::report
