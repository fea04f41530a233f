// Rows of the views kernels, families and tails.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/percentiles.h"

namespace lockstep::report {

struct KernelOfRank {
  int32_t rank = 0;
  Count instances;
  Count total_ns;
  std::optional<int64_t> min_ns;
  std::optional<int64_t> max_ns;
  std::optional<double> mean_ns;
  std::optional<double> stddev_ns;
  std::optional<int64_t> p50_ns;
  std::optional<int64_t> p99_ns;

  static const Record& Fields();
};

struct KernelRow : TailRatios {
  std::string name;
  std::optional<std::string> category;
  std::optional<std::string> family;
  Count ranks;
  Count instances;
  Count total_ns;
  std::optional<double> share_ratio;
  Percentiles duration_ns;
  std::optional<double> tail_score;
  std::optional<std::pair<double, double>> tail_score_bounds;
  std::optional<int32_t> slowest_rank;
  std::optional<double> rank_imbalance_ratio;
  std::vector<KernelOfRank> by_rank;

  static const Record& Fields();
};

struct FamilyOfRank {
  int32_t rank = 0;
  Count total_ns;

  static const Record& Fields();
};

struct FamilyRow {
  std::string family;
  Count instances;
  Count total_ns;
  std::optional<double> share_ratio;
  std::vector<FamilyOfRank> by_rank;

  static const Record& Fields();
};

// The figures of each part of a tail.
struct TailFigures {
  std::optional<int64_t> p50_ns;
  std::optional<int64_t> p99_ns;
  std::optional<int64_t> max_ns;
  std::optional<double> share_of_tail_ratio;
};

struct TailOfRank : TailFigures {
  int32_t rank = 0;

  static const Record& Fields();
};

struct TailOfHost : TailFigures {
  std::optional<std::string> host;

  static const Record& Fields();
};

struct TailOfPhase : TailFigures {
  std::optional<std::string> phase;

  static const Record& Fields();
};

struct TailOfSlice {
  int64_t start_ns = 0;
  Count span_ns;
  std::optional<double> share_of_tail_ratio;

  static const Record& Fields();
};

struct TailOfStep {
  std::optional<int64_t> step;
  std::optional<double> share_of_tail_ratio;

  static const Record& Fields();
};

struct TailExemplar {
  int32_t rank = 0;
  int64_t start_ns = 0;
  Count duration_ns;
  std::optional<int64_t> step;

  static const Record& Fields();
};

struct TailRow {
  std::string name;
  std::optional<std::string> category;
  Percentiles fleet_ns;
  std::vector<TailOfRank> by_rank;
  std::vector<TailOfHost> by_host;
  std::vector<TailOfPhase> by_phase;
  std::vector<TailOfSlice> by_slice;
  std::vector<TailOfStep> by_step;
  std::optional<double> by_step_told_ratio;
  double tail_score = 0;
  std::optional<std::pair<double, double>> tail_score_bounds;
  std::optional<Percentiles> wait_ns;
  std::optional<Percentiles> transfer_ns;
  std::optional<int32_t> waits_for_rank;
  std::vector<TailExemplar> exemplars;

  static const Record& Fields();
};

}  // namespace lockstep::report
