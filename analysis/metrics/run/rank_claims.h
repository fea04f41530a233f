// The rank that every source claims, before it is decided which of them take part. Internal to resolving ranks.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "analysis/metrics/run/analysis_options.h"
#include "analysis/metrics/run/process_devices.h"
#include "analysis/metrics/run/rank_groups.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// Borrows the run. Strays (devices of a process that are no ranks) are refused, and contradictions noted, in `out`.
class RankClaims {
 public:
  RankClaims(const RunData& run, const AnalysisOptions& options, RankResolution& out);

  [[nodiscard]] const std::vector<GroupCandidate>& candidates() const { return candidates_; }
  // Where the rank of a candidate's source comes from; kAssumed = it claims none.
  [[nodiscard]] RankSource provenance(size_t source) const { return provenance_.at(source); }

 private:
  void FindFirstDevices(const std::vector<DevicePlace>& places);
  void Take(size_t s, const DevicePlace& place, RankResolution& out);
  [[nodiscard]] bool NamesTellNothing() const;
  void ForgetNames(RankResolution& out);
  void RefuseStray(size_t s, const DevicePlace& place, RankResolution& out) const;

  const RunData& run_;
  std::map<size_t, size_t> first_device_;  // by main source of the process
  std::vector<GroupCandidate> candidates_;
  std::map<size_t, RankSource> provenance_;
};

}  // namespace lockstep
