// Why a simulated run is slower than it could be: each cause with its place and strength, and what it does to times.
// Pure.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/simulator/cluster.h"
#include "bench/simulator/counter_rng.h"
#include "bench/simulator/simulator_options.h"

namespace lockstep {

enum class CauseKind : uint8_t { kSlowGpu, kLateHost };

struct Cause {
  CauseKind kind = CauseKind::kSlowGpu;
  std::string name;             // as on the command line
  std::vector<int32_t> ranks;   // where it strikes, ascending
  std::optional<int32_t> host;  // it was given for a whole host
  double factor = 1.0;          // slow_gpu: every compute kernel takes this many times as long
  int64_t delay_ns = 0;         // late_host: the host pauses this long before a launch ...
  double probability = 0;       // ... with this probability
  uint32_t ordinal = 0;         // among the causes of its kind; part of its random numbers' keys
};

// Reads and places the causes; without rank or host the seed decides. kInvalidArgument names the value and its range.
[[nodiscard]] absl::StatusOr<std::vector<Cause>> PlaceCauses(const std::vector<Spec>& specs, const Cluster& cluster,
                                                             const CounterRng& rng);

// The causes' effect on a run; `without` leaves one of them out.
class CauseEffects {
 public:
  CauseEffects(const std::vector<Cause>& causes, std::optional<size_t> without, int32_t world, const CounterRng& rng);

  [[nodiscard]] double ComputeFactor(int32_t rank) const { return factor_[static_cast<size_t>(rank)]; }
  // Host pause before the launch of this op.
  [[nodiscard]] int64_t LaunchDelay(int32_t rank, int64_t step, uint32_t op) const;

 private:
  std::vector<double> factor_;                   // by rank
  std::vector<std::vector<const Cause*>> late_;  // by rank
  CounterRng rng_;
};

}  // namespace lockstep
