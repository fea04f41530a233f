// Whoever knows runs and answers about them: the aggregator of this process, another one, or a store. Thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/model/run_data.h"

namespace lockstep {

class RunAnswers {
 public:
  virtual ~RunAnswers() = default;
  // By name. kUnavailable: it cannot be asked.
  [[nodiscard]] virtual absl::StatusOr<std::vector<RunInfo>> Runs() const = 0;
  // The report document (lockstep.report/1) of the views asked for. kNotFound: no such run; errors of BuildReport.
  [[nodiscard]] virtual absl::StatusOr<std::string> ViewsText(const std::string& run,
                                                              const AnalysisOptions& options) const = 0;
};

}  // namespace lockstep
