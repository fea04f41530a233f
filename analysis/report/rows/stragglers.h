// Rows of the view stragglers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

// The notice of a view whose ranks are not the answer, as NoticeRow::reason.
inline constexpr std::string_view kOnlyOfCompared =
    "who makes the others wait cannot be told from these traces, and the view summary says why: these are the ranks "
    "that are late in what can be compared";

struct StragglerPart {
  std::string cause;
  std::optional<std::string> kernel;
  int64_t ns = 0;
  std::optional<double> excess_ratio;

  static const Record& Fields();
};

struct StragglerRow {
  std::string scope;
  std::string id;
  std::optional<std::string> name;
  std::optional<int32_t> rank;
  std::optional<std::string> host;
  std::vector<int32_t> ranks;
  std::string kind;
  int64_t effect_ns_per_step = 0;
  std::pair<int64_t, int64_t> confidence_interval_ns;
  double p_adjusted = 1;
  std::optional<double> confidence;
  std::optional<int64_t> saving_ns_per_step;
  std::optional<double> saving_ratio;
  std::optional<std::pair<int64_t, int64_t>> saving_bound_ns;
  std::optional<std::string> saving_reason;
  std::optional<double> saving_after_others_ratio;
  std::optional<Count> blamed_wait_ns;
  std::optional<Count> blamed_critical_ns;
  std::string frontier;
  std::vector<StragglerPart> parts;
  double persistence = 0;
  std::optional<double> period_steps;
  Count steps;
  std::optional<Count> block_ns;
  double n_eff = 0;

  static const Record& Fields();
};

}  // namespace lockstep::report
