// What the views of this folder are made from, and the small words they share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/metrics/fleet/fleet.h"
#include "analysis/metrics/fleet/fleet_measures.h"
#include "analysis/report/analysis_context.h"
#include "analysis/report/report.h"
#include "analysis/report/views/json_values.h"

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

}  // namespace lockstep
