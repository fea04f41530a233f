// How the parts of a step grow with a number of the context: context length, batch, ranks. Pure, thread safe.
//
// Each part is fitted by a power of the value: least squares of the logarithms, with the slope's 95 % interval by
// Student's t (n - 2 degrees of freedom). Three values are needed for an interval.
#pragma once

#include <absl/status/statusor.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/compared_run.h"
#include "analysis/compare/rows/sweep.h"
#include "analysis/report/report.h"

namespace lockstep::compare {

inline constexpr size_t kFewestSweepRuns = 3;

// kInvalidArgument: fewer than three runs, a run without steps, or one whose context has no number of this key, which
// must be above 0 and not the same in all.
[[nodiscard]] absl::StatusOr<report::Sweep> SweepOf(std::span<const ComparedRun> runs, std::string_view key);

struct PowerFit {
  double exponent = 0;
  double low = 0;
  double high = 0;
};
// All values and times above 0, at least three.
[[nodiscard]] PowerFit FitPower(std::span<const double> values, std::span<const double> times);

[[nodiscard]] std::string RenderJson(const report::Sweep& sweep);
[[nodiscard]] std::string RenderText(const report::Sweep& sweep, const TextOptions& options);
[[nodiscard]] std::string RenderCsv(const report::Sweep& sweep);

}  // namespace lockstep::compare
