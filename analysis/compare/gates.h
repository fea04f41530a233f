// Gates: the largest change that a pipeline allows. A gate fails only where the whole 95 % interval is beyond its
// limit, so that noise alone does not fail it. Pure; parsed gates are immutable and thread safe.
//
//   step_time<=2%          a metric (metrics.h), as a share of the base side
//   exposed_wait<=500us    or as time a step
//   throughput>=-1%        of throughput less is worse
//   kernel:flash.*<=3%     all kernels in whose name the pattern is found, summed
//   family:gemm<=1%        all kernels of a family
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/base/name_pattern.h"
#include "analysis/compare/sides.h"

namespace lockstep::compare {

struct Gate {
  enum class Of : uint8_t { kMetric, kKernels, kFamily };

  std::string text;
  Of of = Of::kMetric;
  std::string name;                    // of the metric or family, or the pattern as it was given
  std::optional<NamePattern> pattern;  // of kernels
  bool at_least = false;               // ">=": the value must not be less than the limit
  bool is_share = true;                // the limit is a share of the base side, else ns a step
  double limit = 0;
};

// kInvalidArgument says what is wrong and what is understood.
[[nodiscard]] absl::StatusOr<Gate> ParseGate(std::string_view text);
// One gate a line; empty lines and lines that begin with # are skipped. Errors name the line; `origin` names the file.
[[nodiscard]] absl::StatusOr<std::vector<Gate>> ParseGates(std::string_view text, std::string_view origin);

// kInvalidArgument: a pattern is too complex for a name.
[[nodiscard]] absl::StatusOr<std::vector<report::GateResult>> ApplyGates(
    const std::vector<Gate>& gates, const Sides& sides, const std::vector<report::MetricChange>& metrics);

}  // namespace lockstep::compare
