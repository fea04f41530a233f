// Rows of the views collectives and skew.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/percentiles.h"

namespace lockstep::report {

struct CollectiveGroup {
  std::string communicator_id;
  std::optional<std::string> name;
  std::optional<std::string> desc;

  static const Record& Fields();
};

struct ClockFreeWaits {
  Count instances;
  Count wait_total_ns;
  Count uncertainty_ns;
  Count aligned_wait_total_ns;
  Count aligned_uncertainty_ns;
  Count end_sigma_ns;
  bool finer = false;
  bool agrees = false;

  static const Record& Fields();
};

struct CollectiveRow {
  CollectiveGroup communicator;
  std::vector<int32_t> members;
  std::optional<std::string> op;
  std::optional<std::string> dtype;
  std::optional<Count> bytes;
  std::optional<std::string> library;
  Count instances;
  Count matched;
  bool complete = false;
  std::string match;
  std::optional<double> confidence;
  Percentiles spread_ns;
  Percentiles wait_ns;
  std::optional<Count> wait_total_ns;
  std::optional<Count> wait_uncertainty_ns;
  std::optional<ClockFreeWaits> clock_free;
  Percentiles transfer_ns;
  std::optional<Count> transfer_baseline_ns;
  std::optional<double> transfer_excess_ratio;
  Percentiles end_spread_ns;
  Percentiles bus_bandwidth_gbps;
  Percentiles apparent_bus_bandwidth_gbps;
  std::optional<double> skew_share_ratio;
  std::optional<std::pair<double, double>> skew_share_interval;
  std::string verdict;

  static const Record& Fields();
};

struct SkewOfRank {
  int32_t rank = 0;
  Percentiles lateness_ns;
  Percentiles wait_ns;
  Count wait_total_ns;
  Count wait_uncertainty_ns;
  Count caused_wait_total_ns;
  Count caused_wait_uncertainty_ns;
  Count last_arrivals;
  std::optional<double> last_arrival_ratio;
  Count instances;

  static const Record& Fields();
};

struct SkewOfStep {
  int64_t step = 0;
  Count instances;
  Count wait_total_ns;
  Count wait_uncertainty_ns;
  std::optional<int32_t> worst_rank;
  std::optional<Count> worst_caused_wait_ns;
  Percentiles spread_ns;

  static const Record& Fields();
};

struct SkewMember {
  int32_t rank = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::optional<Count> wait_ns;
  std::optional<Count> wait_uncertainty_ns;
  std::optional<int64_t> lateness_ns;

  static const Record& Fields();
};

struct SkewInstance {
  std::string communicator_id;
  std::optional<std::string> communicator_name;
  Count index;
  std::optional<Digits> seq;
  std::optional<std::string> op;
  std::optional<Count> bytes;
  std::optional<int64_t> step;
  std::optional<Count> spread_ns;
  std::optional<Count> uncertainty_ns;
  bool resolvable = false;
  std::optional<Count> transfer_ns;
  Count shortest_duration_ns;
  std::optional<Count> end_spread_ns;
  std::optional<Count> solo_damage_ns;
  std::optional<int32_t> first_rank;
  std::optional<int32_t> last_rank;
  bool last_certain = false;
  bool complete = false;
  double confidence = 0;
  std::vector<SkewMember> members;

  static const Record& Fields();
};

struct Skew {
  Count unassigned_wait_ns;
  std::vector<SkewOfRank> ranks;
  std::vector<SkewOfStep> steps;
  std::vector<SkewInstance> instances;

  static const Record& Fields();
};

}  // namespace lockstep::report
