// One run of a comparison: what its report says, and what a step of it costs. Pure, thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/rows/document.h"

namespace lockstep::compare {

// The views that a comparison needs of each run.
[[nodiscard]] std::vector<std::string> ViewsToCompare();

using RunContext = std::map<std::string, std::string>;

// Key of the context: how many tokens all ranks together process in a step.
inline constexpr const char* kTokensPerStep = "tokens_per_step";

// A number above 0; nothing where the key has none.
[[nodiscard]] std::optional<double> NumberOf(const RunContext& context, const std::string& key);

struct ComparedKernel {
  double ns_per_step = 0;  // on the mean rank
  double instances_per_step = 0;
  std::vector<double> by_step;  // ns on the mean rank; empty = not known step by step
};

// A run that steps were found in, or not: then it has none.
struct ComparedRun {
  report::Run head;
  report::Summary summary;
  report::Profile profile;
  std::vector<std::string> failed_gates;
  RunContext context;
  size_t warm_up = 0;                   // leading steps of the profile that are left out
  std::vector<ComparedKernel> kernels;  // parallel to profile.kernels

  // Those that are compared.
  [[nodiscard]] std::span<const report::ProfileStep> Steps() const;
  // The kernels that `which` is true of, summed.
  using KernelFilter = std::function<bool(const report::ProfileKernel&)>;
  [[nodiscard]] double KernelTime(const KernelFilter& which) const;  // ns a step on the mean rank
  // The same step by step; empty where one of them that takes time is not known so.
  [[nodiscard]] std::vector<double> KernelTimes(const KernelFilter& which) const;
  // Of a part or of kernel time that is summed over the ranks: the mean of a rank and a step.
  [[nodiscard]] double MeanOfStep(report::Count report::ProfileStep::*total) const;
};

// `context` is what the person added; it wins over what the traces say. kInvalidArgument: the document lacks the
// profile, as those of older versions do.
[[nodiscard]] absl::StatusOr<ComparedRun> ComparedRunOf(report::Document document, const RunContext& context);

}  // namespace lockstep::compare
