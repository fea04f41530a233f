// The document "lockstep.history/1": the runs of one context over time, and where a metric changed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/rows/comparison.h"
#include "analysis/report/fields/record.h"

namespace lockstep::report {

inline constexpr std::string_view kHistorySchema = "lockstep.history/1";

struct HistoryRun {
  std::string name;
  std::optional<Digits> start_unix_ns;
  Count steps;
  double value = 0;
  std::optional<double> error;
  bool begins_level = false;

  static const Record& Fields();
};

struct HistoryChange {
  std::string run;
  std::string previous_run;
  double before = 0;
  double after = 0;
  double change_ratio = 0;
  double p = 1;
  std::string sentence;
  std::vector<ContextDifference> context;
  std::vector<LedgerEntry> ledger;

  static const Record& Fields();
};

struct LeftOutRun {
  std::string name;
  std::string reason;

  static const Record& Fields();
};

struct History {
  std::string schema = std::string(kHistorySchema);
  std::string metric;
  std::string unit;
  std::vector<HistoryRun> runs;
  std::vector<HistoryChange> changes;
  std::vector<LeftOutRun> left_out;
  std::string sentence;

  static const Record& Fields();
};

}  // namespace lockstep::report
