// How long things take: host calls, launches, kernels, copies, transfers, with their noise. Pure.
//
// Ranges: dispatch and call 3 to 5 us together, rarely (0.03 %) a pause of 100 to 200 us; kernel noise 0.2 to 2 % by
// kernel, spread between devices 0.4 %; transfer noise 2 %; ends of one collective 0.3 to 1 us apart.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/simulator/causes.h"
#include "bench/simulator/cluster.h"
#include "bench/simulator/counter_rng.h"
#include "bench/simulator/step_program.h"

namespace lockstep {

inline constexpr int64_t kDeviceTickNs = 32;
inline constexpr int64_t kStepMarkNs = 1'500;  // host time around a step's range

// The next multiple of the device's tick.
[[nodiscard]] constexpr int64_t OnTick(int64_t ns) { return (ns + kDeviceTickNs - 1) / kDeviceTickNs * kDeviceTickNs; }

[[nodiscard]] constexpr bool StartsDeviceWork(OpKind kind) {
  return kind == OpKind::kKernel || kind == OpKind::kCollective || kind == OpKind::kMemcpy || kind == OpKind::kMemset;
}

class DeviceModel {
 public:
  DeviceModel(const Cluster& cluster, const CauseEffects& effects, const CounterRng& rng);

  // The key names rank, step and op; each method adds its own purpose. All results are ns.
  [[nodiscard]] int64_t Dispatch(DrawKey key, const Op& op) const;
  [[nodiscard]] int64_t CallLength(DrawKey key, OpKind kind) const;
  [[nodiscard]] int64_t SyncReturn(DrawKey key) const;
  [[nodiscard]] int64_t LaunchLatency(DrawKey key) const;  // from the begin of the call to the earliest start
  [[nodiscard]] int64_t StreamGap(DrawKey key) const;
  [[nodiscard]] int64_t Length(DrawKey key, const Op& op) const;
  // From the last arrival to the end of the data; the key's rank stands for the communicator.
  [[nodiscard]] int64_t Transfer(DrawKey key, const Op& op, const Communicator& group) const;
  [[nodiscard]] int64_t EndJitter(DrawKey key) const;

 private:
  const Cluster& cluster_;
  const CauseEffects& effects_;
  CounterRng rng_;
  std::vector<double> device_factor_;  // spread between devices, by rank
};

}  // namespace lockstep
