// What the views of this folder are made from, and the small words they share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/report/analysis_context.h"
#include "analysis/report/report.h"

namespace lockstep {

struct ViewInput {
  const AnalysisContext& context;
  const Fleet& fleet;
  const FleetMeasures& measures;

  [[nodiscard]] int32_t RankOf(size_t member) const { return fleet.members[member].rank; }
  // An aligned time relative to the run's start; Fleet::SinceStart takes times of a rank's own clock.
  [[nodiscard]] int64_t SinceStart(int64_t time_ns) const { return time_ns - fleet.run_start_ns; }
  void Notify(std::string_view view, std::string reason) const {
    context.notices.push_back({std::string(view), std::move(reason)});
  }
};

// Absent knowledge is null.
template <typename Value>
[[nodiscard]] Json OrNull(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}
[[nodiscard]] inline Json TextOrNull(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }
[[nodiscard]] inline Json Ratio(int64_t part, int64_t whole) {
  return whole > 0 ? Json(static_cast<double>(part) / static_cast<double>(whole)) : Json(nullptr);
}

}  // namespace lockstep
