// The rank that every source claims, before it is decided which of them take part. Internal to resolving ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
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
  // The number of ranks of the job that a source states; none if it is absurd, or less than the person says.
  [[nodiscard]] std::optional<int32_t> WorldOf(size_t source) const;

 private:
  void FindTold(const AnalysisOptions& options);
  [[nodiscard]] std::optional<RankClaim> BestClaim(const SourceContext& c) const;
  void FindFirstDevices(const std::vector<DevicePlace>& places);
  void Take(size_t s, const DevicePlace& place, RankResolution& out);
  [[nodiscard]] bool NamesTellNothing() const;
  void ForgetNames(RankResolution& out);
  void RefuseStray(size_t s, const DevicePlace& place, RankResolution& out) const;

  const RunData& run_;
  int32_t told_ranks_ = 0;                 // the job has at least so many ranks: the person says so
  std::map<size_t, size_t> first_device_;  // by main source of the process
  std::vector<GroupCandidate> candidates_;
  std::map<size_t, RankSource> provenance_;
};

}  // namespace lockstep
