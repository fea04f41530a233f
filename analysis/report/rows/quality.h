// The view quality: how far the data can be believed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct GateRow {
  std::string name;
  std::optional<bool> ok;
  std::string detail;
  std::optional<std::string> fix;

  static const Record& Fields();
};

struct CountersOfRank {
  int32_t rank = 0;
  Keyed<Count> counters;

  static const Record& Fields();
};

struct FileRow {
  std::string path;
  std::string status;
  std::optional<std::string> reason;
  std::optional<Count> offset;
  Keyed<Count> counters;

  static const Record& Fields();
};

struct Quality {
  std::vector<GateRow> gates;
  std::vector<CountersOfRank> ranks;
  std::vector<FileRow> files;

  static const Record& Fields();
};

}  // namespace lockstep::report
