// What the clocks of a simulated cluster show at a true time. Pure.
//
// local = true + theta(host, t); a device adds its constant bias and a jitter for each record, and ticks every 32 ns.
// One clock domain is one host, in both trace forms.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/simulator/cluster.h"
#include "bench/simulator/counter_rng.h"
#include "bench/simulator/simulator_options.h"
#include "bench/simulator/step_program.h"
#include "bench/simulator/timeline.h"

namespace lockstep {

class ClockField {
 public:
  // `start_ns` and `end_ns`: the true times between which a clock step may fall; drift counts from start_ns.
  ClockField(const SimulatorOptions& options, const Cluster& cluster, const CounterRng& rng, int64_t start_ns,
             int64_t end_ns);

  struct Step {
    int64_t at_ns = 0;
    int64_t size_ns = 0;
  };
  [[nodiscard]] int64_t Theta(int32_t host, int64_t true_ns) const;
  [[nodiscard]] const std::vector<Step>& StepsOf(int32_t host) const { return hosts_[static_cast<size_t>(host)].steps; }
  [[nodiscard]] int64_t DeviceBias(int32_t rank) const { return devices_[static_cast<size_t>(rank)].bias_ns; }

  // Turns true times into what the trace of this rank shows. Records of one stream stay in order and apart.
  void Record(int32_t rank, const StepProgram& program, RankTimeline& timeline) const;

 private:
  struct HostClock {
    int64_t offset_ns = 0;
    double drift = 0;  // ns per ns
    std::vector<Step> steps;
  };
  struct DeviceClock {
    int64_t bias_ns = 0;
    double jitter_ns = 0;
  };
  [[nodiscard]] int64_t DeviceShift(int32_t rank, const Activity& activity) const;

  const Cluster& cluster_;
  CounterRng rng_;
  int64_t start_ns_;
  std::vector<HostClock> hosts_;
  std::vector<DeviceClock> devices_;
};

}  // namespace lockstep
