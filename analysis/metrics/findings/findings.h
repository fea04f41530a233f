// What is wrong with a run, with the numbers that say so, the likely cause and what to do next.
//
// One catalogue of checks (catalogue.cc), each with a condition and thresholds: docs/algorithms/verdicts.md. A finding
// has evidence and a place; where a particular finding explains a general one (a synchronisation in the step explains
// an idle device), only the particular one is reported. Pure. Units: ns; shares of the GPU time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/metrics/kernels/kernels.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "analysis/metrics/summary/quality.h"

namespace lockstep {

enum class Severity : uint8_t { kInfo = 0, kMinor = 1, kMajor = 2 };
[[nodiscard]] std::string_view Name(Severity severity);  // "info" | "minor" | "major"

struct Evidence {
  std::string metric;
  double value = 0;
  double threshold = 0;
  std::string where;  // "rank 3 on node1", "all ranks", a kernel; "" = the whole run
};

struct Finding {
  std::string id;  // a name of the interface's catalogue
  Severity severity = Severity::kMinor;
  std::string title;
  std::vector<Evidence> evidence;  // at least one
  std::string cause;
  std::string next_action;
  std::optional<double> saving_ratio;  // of the GPU time: at most this much; null = unknown
};

struct FindingsInput {
  const Fleet& fleet;
  const FleetMeasures& measures;
  const KernelSummary& kernels;  // by full name and launch shape, with distributions
  const Quality& quality;
  const StragglerResult& stragglers;
  std::vector<double> confidence;  // that the others wait for it, parallel to `stragglers`; where it ends: sure
};

// By saving, descending (unknown ones last), then severity, then the order of the catalogue.
[[nodiscard]] std::vector<Finding> ComputeFindings(const FindingsInput& input);

// Ids of the catalogue, in its order.
[[nodiscard]] std::vector<std::string_view> FindingIds();

}  // namespace lockstep
