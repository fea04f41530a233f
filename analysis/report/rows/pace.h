// The view pace and its rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/fields/record.h"

namespace lockstep::report {

struct PaceOfRank {
  int32_t rank = 0;
  std::vector<std::optional<double>> compute_ratio;
  std::vector<std::optional<double>> comm_ratio;
  std::vector<std::optional<double>> busy_ratio;
  std::vector<double> steps_done;

  static const Record& Fields();
};

struct KernelPaceOfSlice {
  int64_t start_ns = 0;
  Count span_ns;
  Count instances;
  double mean_ns = 0;

  static const Record& Fields();
};

struct KernelPaceOfRank {
  int32_t rank = 0;
  std::vector<KernelPaceOfSlice> slices;

  static const Record& Fields();
};

struct KernelPace {
  std::string name;
  std::vector<KernelPaceOfRank> ranks;

  static const Record& Fields();
};

struct Pace {
  std::optional<Figure> bucket_ns;
  std::optional<int64_t> start_ns;
  std::vector<PaceOfRank> ranks;
  std::vector<KernelPace> kernels;

  static const Record& Fields();
};

}  // namespace lockstep::report
