// What the clocks of a simulated cluster show at a true time. Pure.
//
// local = true + theta(host, t): an offset, a constant drift, a wander (random walk of the rate, a new value every
// 0.1 s) and steps. A device adds its constant bias and a jitter for each record, and shows ticks. One clock domain is
// one host, in both trace forms.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/cluster/counter_rng.h"
#include "bench/simulator/command/simulator_options.h"
#include "bench/simulator/engine/timeline.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

class ClockField {
 public:
  static constexpr int64_t kWanderNs = 100'000'000;  // a rate holds that long

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
  // The clock of a rank's device, jitter apart: what an alignment is to find, up to one constant for all ranks.
  [[nodiscard]] int64_t TrueTheta(int32_t rank, int64_t true_ns) const {
    return Theta(devices_[static_cast<size_t>(rank)].host, true_ns) + DeviceBias(rank);
  }
  // Where Theta of this host changes its rate or steps, between start and end inclusive, ascending: linear between two
  // neighbours but for a step at the later one.
  [[nodiscard]] std::vector<int64_t> KnotsOf(int32_t host) const;

  // Turns true times into what the trace of this rank shows. Records of one stream stay in order, and apart unless
  // their op may start early.
  void Record(int32_t rank, const StepProgram& program, RankTimeline& timeline) const;

 private:
  struct HostClock {
    int64_t offset_ns = 0;
    double drift = 0;                 // ns per ns
    std::vector<double> wander_ns;    // by interval of kWanderNs: what the wander has added up to its begin
    std::vector<double> wander_rate;  // and its rate there
    std::vector<Step> steps;
  };
  struct DeviceClock {
    int32_t host = 0;
    int64_t bias_ns = 0;
    double jitter_ns = 0;
  };
  void DrawWander(double ppm, int32_t host, HostClock& clock) const;
  void DrawStep(const ClockMagnitudes& size, int32_t hosts);
  [[nodiscard]] int64_t DeviceShift(int32_t rank, const Activity& activity) const;
  [[nodiscard]] int64_t DownToTick(int64_t ns) const;

  CounterRng rng_;
  int64_t start_ns_;
  int64_t end_ns_;
  int64_t tick_ns_;
  std::vector<HostClock> hosts_;
  std::vector<DeviceClock> devices_;
};

}  // namespace lockstep
