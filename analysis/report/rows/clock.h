// The view clock: which ranks share a clock, and how the clocks of the hosts were aligned.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct ClockComponent {
  int64_t component = 0;
  std::optional<std::string> reference_host;
  std::vector<std::string> hosts;
  std::optional<Count> not_resolvable_below_ns;
  std::optional<std::pair<int32_t, int32_t>> worst_pair;

  static const Record& Fields();
};

struct ClockDevice {
  int32_t rank = 0;
  int64_t bias_ns = 0;

  static const Record& Fields();
};

struct ClockKnot {
  int64_t t_ns = 0;
  int64_t offset_ns = 0;
  std::optional<int64_t> lo_ns;
  std::optional<int64_t> hi_ns;
  Figure sigma_ns;

  static const Record& Fields();
};

struct ClockStep {
  int64_t t_ns = 0;
  int64_t size_ns = 0;

  static const Record& Fields();
};

struct ClockHostRow {
  std::optional<std::string> host;
  int32_t domain = 0;
  Count ranks;
  int64_t component = 0;
  int64_t offset_ns = 0;
  std::optional<Count> uncertainty_ns;
  std::optional<double> drift_ppm;
  std::optional<int64_t> at_ns;
  std::optional<std::pair<int64_t, int64_t>> certified_ns;
  bool certified = false;
  std::optional<Figure> sigma_ns;
  std::string method;
  Count instances;
  std::optional<Count> inside_ns;
  std::vector<ClockDevice> devices;
  std::vector<ClockKnot> knots;
  std::vector<ClockStep> steps;

  static const Record& Fields();
};

struct Clock {
  std::optional<std::string> reference_host;
  std::vector<ClockComponent> components;
  std::vector<ClockHostRow> hosts;

  static const Record& Fields();
};

}  // namespace lockstep::report
