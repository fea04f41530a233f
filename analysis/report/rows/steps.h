// Rows of the view steps.
#pragma once

#include <optional>
#include <string>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct IdleOfStep {
  Count host_ns;
  Count launch_ns;
  Count dependency_ns;
  Count other_ns;

  static const Record& Fields();
};

struct HostOfStep {
  Count launch_ns;
  Count graph_launches;
  Count sync_calls;
  Count sync_ns;
  Count alloc_calls;
  Count alloc_ns;
  Count alloc_max_ns;
  Count host_copies;
  Count host_copy_ns;

  static const Record& Fields();
};

struct PhasesOfStep {
  double forward_ratio = 0;
  double backward_ratio = 0;
  double optimizer_ratio = 0;

  static const Record& Fields();
};

struct BudgetOfStep {
  std::optional<double> busy_ratio;
  std::optional<double> host_gap_ratio;
  std::optional<double> communication_ratio;

  static const Record& Fields();
};

struct StepRow {
  int32_t rank = 0;
  int64_t step = 0;
  std::optional<std::string> name;
  int64_t start_ns = 0;
  Count span_ns;
  std::optional<int64_t> first_start_ns;
  std::optional<int64_t> last_end_ns;
  Count compute_ns;
  Count comm_ns;
  Count exposed_comm_ns;
  Count exposed_wait_ns;
  Count exposed_transfer_ns;
  Count exposed_unresolved_ns;
  Count copy_only_ns;
  Count opaque_only_ns;
  Count idle_ns;
  IdleOfStep idle;
  Count launches;
  HostOfStep host;
  std::optional<std::string> phase;
  std::optional<PhasesOfStep> phases;
  std::optional<std::string> verdict;
  BudgetOfStep budget;
  std::optional<std::string> why;

  static const Record& Fields();
};

}  // namespace lockstep::report
