// The document "lockstep.sweep/1": three or more runs ordered by a number of their context, and how the parts of a step
// grow with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/rows/comparison.h"
#include "analysis/report/fields/record.h"

namespace lockstep::report {

inline constexpr std::string_view kSweepSchema = "lockstep.sweep/1";

struct SweepRun {
  std::string name;
  double value = 0;
  Count steps;
  double step_time_ns = 0;

  static const Record& Fields();
};

struct SweepPart {
  std::string part;
  std::string kind;
  std::vector<double> ns_per_step;
  std::optional<double> exponent;
  OptionalRange exponent_interval;
  bool should_not_grow = false;

  static const Record& Fields();
};

struct Sweep {
  std::string schema = std::string(kSweepSchema);
  std::string key;
  std::vector<SweepRun> runs;
  std::vector<SweepPart> parts;
  std::string sentence;
  std::vector<std::string> notices;

  static const Record& Fields();
};

}  // namespace lockstep::report
