// Rows of the view imbalance.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct ImbalanceWindow {
  std::optional<int64_t> start_ns;
  std::optional<Count> span_ns;
  std::string kind;
  std::optional<std::pair<int64_t, int64_t>> steps;

  static const Record& Fields();
};

struct QuantityOfRank {
  int32_t rank = 0;
  Figure value;

  static const Record& Fields();
};

struct QuantityOfHost {
  std::string host;
  Figure mean_value;

  static const Record& Fields();
};

struct QuantityOfGroup {
  std::string communicator_id;
  std::optional<std::string> name;
  Figure mean_value;

  static const Record& Fields();
};

struct QuantityRow {
  std::string quantity;
  std::string unit;
  std::string over;
  std::vector<QuantityOfRank> per_rank;
  std::vector<QuantityOfHost> by_host;
  std::vector<QuantityOfGroup> by_group;
  std::optional<double> max_over_mean_ratio;
  std::optional<double> max_minus_min_over_max_ratio;
  std::optional<double> cv_ratio;
  std::optional<int32_t> worst_rank;
  std::string kind;
  bool waits = false;
  std::optional<int32_t> waits_for_rank;
  std::optional<std::string> idle_cause;

  static const Record& Fields();
};

struct Efficiency {
  Count window_ns;
  std::optional<double> parallel;
  std::optional<double> load_balance;
  std::optional<double> communication;
  std::optional<double> serialisation;
  std::optional<double> transfer;
  std::optional<double> busy_share;
  std::optional<double> orchestration;

  static const Record& Fields();
};

struct Imbalance {
  ImbalanceWindow window;
  std::vector<QuantityRow> quantities;
  Efficiency efficiency;

  static const Record& Fields();
};

}  // namespace lockstep::report
