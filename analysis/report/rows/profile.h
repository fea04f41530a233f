// Rows of the view profile: what a comparison needs of a run, with its ranks summed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/percentiles.h"

namespace lockstep::report {

// Parts of the time of one or more ranks: they sum to the time, exactly.
struct PartsOfTime {
  Count compute_ns;
  Count exposed_wait_ns;
  Count exposed_transfer_ns;
  Count exposed_unresolved_ns;
  Count copy_only_ns;
  Count opaque_only_ns;
  Count idle_host_ns;
  Count idle_launch_ns;
  Count idle_dependency_ns;
  Count idle_other_ns;
};

struct ProfileStep : PartsOfTime {
  int64_t step = 0;
  Count longest_ns;
  int32_t longest_rank = 0;
  Count span_total_ns;
  Count kernel_time_ns;

  static const Record& Fields();
};

struct ProfileRank : PartsOfTime {
  int32_t rank = 0;
  std::optional<std::string> host;
  std::optional<std::string> gpu_uuid;
  std::optional<std::string> gpu_name;
  Count span_total_ns;
  std::optional<Count> wait_total_ns;
  std::optional<Count> caused_wait_total_ns;

  static const Record& Fields();
};

struct ProfileKernel {
  std::string name;
  std::optional<std::string> mangled;
  std::optional<std::string> category;
  std::optional<std::string> family;
  std::optional<std::string> range;
  Count ranks;
  Count instances;
  Count total_ns;
  Percentiles duration_ns;
  std::vector<double> places;
  std::optional<std::vector<Count>> typical_places;
  std::optional<Count> typical_kernels;
  std::optional<std::vector<Count>> step_ns;
  std::optional<Count> step_instances;

  static const Record& Fields();
};

struct ProfileCollective {
  std::optional<std::string> op;
  std::optional<std::string> dtype;
  std::optional<Count> bytes;
  Count members;
  std::optional<std::string> desc;
  Count groups;
  Count instances;
  Count matched;
  Percentiles wait_ns;
  Count wait_total_ns;
  Percentiles transfer_ns;
  Percentiles bus_bandwidth_gbps;

  static const Record& Fields();
};

struct Profile {
  Count ranks;
  bool comparable_steps = false;
  Count partial_steps;
  std::vector<ProfileStep> steps;
  std::vector<ProfileRank> by_rank;
  std::vector<ProfileKernel> kernels;
  std::vector<ProfileCollective> collectives;
  Keyed<std::string> context;

  static const Record& Fields();
};

}  // namespace lockstep::report
