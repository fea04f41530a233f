// The view summary: who makes the others wait, where the ranks' time goes, what bounds the run, what to look at next.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/imbalance.h"
#include "analysis/report/rows/percentiles.h"

namespace lockstep::report {

struct TimeShares {
  std::optional<double> compute_ratio;
  std::optional<double> exposed_wait_ratio;
  std::optional<double> exposed_transfer_ratio;
  std::optional<double> exposed_unresolved_ratio;
  std::optional<double> copy_ratio;
  std::optional<double> opaque_ratio;
  std::optional<double> idle_ratio;

  static const Record& Fields();
};

struct Culprit {
  std::string scope;
  std::string id;
  std::optional<std::string> name;
  std::optional<int32_t> rank;
  std::optional<std::string> rank_source;
  std::optional<std::string> path;
  std::optional<int32_t> device;
  std::optional<std::string> host;
  std::optional<std::string> gpu_uuid;
  std::optional<std::string> pci_bus;
  std::vector<int32_t> ranks;
  Count caused_wait_total_ns;
  double share_of_wait_ratio = 0;
  double confidence = 0;
  std::optional<std::string> cause;
  bool open = false;
  std::optional<std::string> recurrence;
  std::optional<double> persistence;
  std::optional<double> period_steps;
  std::optional<Count> steps;
  std::optional<Count> block_ns;
  std::optional<std::string> kernel;
  std::optional<std::string> frontier;
  std::optional<Count> blamed_critical_ns;
  std::optional<double> excess_ratio;
  std::optional<std::string> saving_reason;
  std::optional<double> saving_ratio;
  std::optional<std::pair<double, double>> saving_interval_ratio;
  std::optional<double> saving_after_others_ratio;
  std::optional<int64_t> worst_at_ns;
  std::optional<std::pair<int64_t, int64_t>> stretch_ns;
  std::optional<Digits> worst_at_unix_ns;

  static const Record& Fields();
};

struct LeftOutCulprit {
  int32_t rank = 0;
  Count caused_wait_total_ns;

  static const Record& Fields();
};

struct LooksLate {
  std::string scope;
  std::string id;
  Count steps;
  std::optional<Count> steps_needed;
  std::optional<Count> block_ns;
  std::optional<double> saving_ratio;

  static const Record& Fields();
};

struct SlowPart {
  std::vector<int32_t> ranks;
  std::optional<std::string> host;
  Count step_ns;
  Count others_step_ns;

  static const Record& Fields();
};

struct UnresolvedKernel {
  std::string name;
  Count others;
  int32_t shortest_rank = 0;
  Count shortest_total_ns;
  Count longest_total_ns;

  static const Record& Fields();
};

struct UnresolvedTime {
  double ratio = 0;
  std::string reason;
  bool leads = false;
  std::vector<int32_t> missing_ranks;
  std::optional<UnresolvedKernel> kernel;
  std::optional<int32_t> lacking_rank;
  bool groups_inferred = false;

  static const Record& Fields();
};

struct Workload {
  std::optional<std::string> kind;
  double overhead_ratio = 0;
  double communication_ratio = 0;
  double work_ratio = 0;
  std::optional<double> memory_ratio;

  static const Record& Fields();
};

struct WorstCollective {
  std::string communicator_id;
  std::optional<std::string> name;
  std::optional<std::string> op;
  std::optional<Count> bytes;
  Count wait_total_ns;
  std::string verdict;

  static const Record& Fields();
};

struct WorstTail {
  std::string name;
  std::optional<int32_t> rank;
  double tail_score = 0;
  bool waits = false;
  std::optional<int32_t> waits_for_rank;

  static const Record& Fields();
};

struct Problem {
  std::string gate;
  std::string detail;
  std::string fix;

  static const Record& Fields();
};

struct Summary {
  TimeShares time_share;
  std::optional<ImbalanceWindow> window;
  std::vector<Culprit> culprits;
  std::optional<LeftOutCulprit> left_out_culprit;
  std::optional<LeftOutCulprit> most_awaited;
  std::optional<LooksLate> looks_late;
  std::optional<SlowPart> slow_part;
  std::string verdict;
  std::optional<UnresolvedTime> unresolved;
  Workload workload;
  std::optional<Percentiles> step_ns;
  bool steps_by_rank = false;
  Count wait_total_ns;
  std::optional<Count> certain_wait_ns;
  Count rank_time_ns;
  Count pair_wait_total_ns;
  std::vector<int32_t> tied_ranks;
  Count unassigned_wait_ns;
  bool ranks_assumed_all = false;
  std::optional<bool> decided;
  std::vector<WorstCollective> worst_collectives;
  std::vector<WorstTail> worst_tails;
  std::vector<Problem> problems;
  std::vector<std::string> next;

  static const Record& Fields();
};

}  // namespace lockstep::report
