// Which steps of a rank took longer than those they are compared with: of the same rank and phase (all of the rank's
// where fewer than five share the phase). A step is slow if it exceeds their median by more than three robust
// deviations (1.4826 median absolute deviations) and by 2 %. Units: ns. Pure. docs/algorithms/time.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/model/run_data.h"

namespace lockstep {

inline constexpr size_t kMinComparedSteps = 5;

// Rows of SourceData::steps that can be compared; none if they are fewer than five.
struct ComparedSteps {
  std::vector<size_t> all;
  std::map<std::string, std::vector<size_t>> by_phase;

  [[nodiscard]] const std::vector<size_t>& Of(const std::vector<size_t>& of_phase) const {
    return of_phase.size() < kMinComparedSteps ? all : of_phase;
  }
};
[[nodiscard]] ComparedSteps FindComparedSteps(const SourceData& source);

struct UsualSpan {
  int64_t span_ns = 0;
  int64_t noise_ns = 0;
  [[nodiscard]] bool IsExceededBy(const StepRow& row) const;
};
// Of at least one row.
[[nodiscard]] UsualSpan UsualSpanOf(const std::vector<StepRow>& steps, const std::vector<size_t>& rows);

// Ascending.
[[nodiscard]] std::vector<size_t> FindSlowRows(const SourceData& source);

}  // namespace lockstep
