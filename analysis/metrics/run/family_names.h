// Families of kernels as the report names them: those of a --families file before those of the built-in table.
// Pure; not thread safe (it remembers answers).
#pragma once

#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// A --families file: a line "family, text" for each text that makes a kernel one of that family where it occurs in its
// name, whatever the case; the first line that fits counts; # begins a comment. kInvalidArgument names the line.
[[nodiscard]] absl::StatusOr<std::vector<FamilyWord>> ParseFamilies(std::string_view text);

class FamilyNames {
 public:
  // Borrows both.
  FamilyNames(const RunData& run, const AnalysisOptions& options);

  [[nodiscard]] const std::string& Of(const KernelRow& row);

 private:
  [[nodiscard]] std::string Told(const KernelRow& row) const;

  const RunData& run_;
  std::vector<FamilyWord> words_;  // in lower case
  std::map<std::pair<uint32_t, Family>, std::string> known_;
};

}  // namespace lockstep
