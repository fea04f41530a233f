// Rows of the view overlap.
#pragma once

#include <optional>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct OverlapRow {
  int32_t rank = 0;
  Count span_ns;
  Count compute_ns;
  Count comm_ns;
  Count copy_ns;
  std::optional<Count> overlap_ns;
  std::optional<double> overlap_ratio;
  Count exposed_comm_ns;
  std::optional<Count> strict_exposed_comm_ns;
  Count exposed_wait_ns;
  Count exposed_transfer_ns;
  Count exposed_unresolved_ns;
  Count copy_only_ns;
  Count opaque_only_ns;
  Count idle_ns;
  std::optional<double> busy_ratio;

  static const Record& Fields();
};

}  // namespace lockstep::report
