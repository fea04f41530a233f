// Rows of the view ranks.
#pragma once

#include <optional>
#include <string>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct StepsOfRank {
  std::optional<int64_t> first;
  std::optional<int64_t> last;
  Count count;
  std::optional<std::string> source;

  static const Record& Fields();
};

struct RankRow {
  int32_t rank = 0;
  std::string rank_source;
  std::optional<std::string> host;
  std::string host_source;
  int32_t domain = 0;
  int32_t capture = 0;
  std::optional<int64_t> device;
  std::optional<int64_t> pid;
  std::optional<std::string> gpu_name;
  std::optional<std::string> gpu_uuid;
  std::optional<std::string> pci_bus;
  std::optional<std::string> format;
  std::optional<std::string> tool_version;
  Keyed<std::string> versions;
  std::optional<std::string> path;
  std::optional<Digits> start_unix_ns;
  std::optional<Count> span_ns;
  Count kernels;
  Count collectives;
  Count copies;
  StepsOfRank steps;
  bool complete = false;

  static const Record& Fields();
};

}  // namespace lockstep::report
