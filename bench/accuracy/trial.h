// One simulated run, analysed: what the figures are scored on.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/metrics/arrivals/arrival_graph.h"
#include "analysis/metrics/causes/blame.h"
#include "analysis/metrics/match/match.h"
#include "analysis/metrics/replay/replay.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/metrics/stragglers/stragglers.h"
#include "bench/simulator/run/condensed_run.h"

namespace lockstep {

// Of a simulation whose step times without the cause were computed.
[[nodiscard]] double SavingRatio(const TruthOfCause& cause);

// The simulation and its joined instances. Everything later is computed when first asked for. One thread.
class Trial {
 public:
  // Flags as for lockstep-simulate, without --out.
  static absl::StatusOr<std::unique_ptr<Trial>> Run(const std::vector<std::string>& flags, uint64_t seed,
                                                    bool step_times_without = false);

  [[nodiscard]] const SimulatedRun& sim() const { return *sim_; }
  [[nodiscard]] SimulatedRun& sim() { return *sim_; }
  [[nodiscard]] const RankResolution& ranks() const { return ranks_; }
  [[nodiscard]] const MatchResult& match() const { return match_; }
  [[nodiscard]] const ArrivalGraph& graph();
  [[nodiscard]] const BlameResult& blame();
  [[nodiscard]] const Replay& replay();
  [[nodiscard]] const StragglerResult& stragglers();
  // Global rank of a rank index, and the index into true_instances of a member's row (-1 = none).
  [[nodiscard]] int32_t RankOf(int32_t rank_index) const { return ranks_.ranks[static_cast<size_t>(rank_index)].rank; }
  [[nodiscard]] int64_t TrueInstanceOf(int32_t rank_index, int64_t row) const;

 private:
  Trial() = default;
  std::unique_ptr<SimulatedRun> sim_;
  RankResolution ranks_;
  MatchResult match_;
  std::optional<ArrivalGraph> graph_;
  std::optional<BlameResult> blame_;
  std::unique_ptr<Replay> replay_;
  std::optional<StragglerResult> stragglers_;
};

// Whether the run has as many independent steps as the test needs to tell the first rank that this cause strikes.
[[nodiscard]] bool EnoughSteps(Trial& trial, const TruthOfCause& cause);

}  // namespace lockstep
