// How long things take: host calls, launches, kernels, copies, transfers, with their noise. Pure but for BeginStep.
//
// Ranges: dispatch and call 3 to 5 us together, rarely (0.03 %) a pause of 100 to 200 us; everything else by
// NoiseModel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/simulator/cluster/causes.h"
#include "bench/simulator/cluster/cluster.h"
#include "bench/simulator/cluster/counter_rng.h"
#include "bench/simulator/engine/op_draws.h"
#include "bench/simulator/program/step_program.h"

namespace lockstep {

inline constexpr int64_t kDeviceTickNs = 32;
inline constexpr int64_t kStepMarkNs = 1'500;  // host time around a step's range

// The next multiple of the device's tick.
[[nodiscard]] constexpr int64_t OnTick(int64_t ns) { return (ns + kDeviceTickNs - 1) / kDeviceTickNs * kDeviceTickNs; }

// The host's part of an op and how its launch reaches the device.
struct HostTimes {
  int64_t dispatch_ns = 0;  // before the call
  int64_t call_ns = 0;
  int64_t latency_ns = 0;     // from the begin of the call to the earliest start
  int64_t stream_gap_ns = 0;  // after the predecessor on the stream
};

// One rank at the instance that it has reached.
struct Arrival {
  int32_t rank = 0;
  int32_t position = 0;  // in the communicator
  int64_t start_ns = 0;  // from here on its kernel sends and receives
  const Op* op = nullptr;
  uint32_t draw = 0;   // DrawNumber of the op
  int64_t end_ns = 0;  // result of CompleteInstance
};

// By how much longer each rank's device takes for everything, for good. By rank; 1 = as it should.
[[nodiscard]] std::vector<double> DeviceFactors(const Cluster& cluster, const NoiseModel& noise, const CounterRng& rng);

class DeviceModel {
 public:
  // The referents outlive the model.
  DeviceModel(const Cluster& cluster, const StepProgram& program, const CauseEffects& effects, const NoiseModel& noise,
              const CounterRng& rng);

  // Steps in order from 0: draws the slow part of every rank's speed.
  void BeginStep(int64_t step);

  [[nodiscard]] HostTimes TimesOfHost(const OpDraws& draws, int32_t rank, const Op& op) const;
  [[nodiscard]] int64_t SyncReturn(const OpDraws& draws) const;
  // How long before its predecessor's end an Op::early_start begins.
  [[nodiscard]] int64_t EarlyStart(const OpDraws& draws) const;
  // Of a kernel, copy or memset; a collective's length follows from all its members.
  [[nodiscard]] int64_t Length(const OpDraws& draws, const OpPlace& place, const Op& op) const;

  // All members have come: sets their ends. `instance`: ordinal among those of its meeting.
  void CompleteInstance(int32_t communicator, uint32_t meeting, uint32_t instance, std::span<Arrival> arrivals) const;

 private:
  struct GroupModel {
    double members = 1;
    bool far = false;                // spans hosts
    double rail_factor = 1;          // of the slowest rail that it uses
    std::vector<double> share;       // by position: how early in the spread of ends it finishes, 0 = last
    std::vector<double> tree_share;  // the same with a tree
  };

  [[nodiscard]] GroupModel ModelOf(const RankGroup& group, int32_t index) const;
  [[nodiscard]] double UsualTransfer(const Op& op, const GroupModel& group) const;
  [[nodiscard]] double PairTransfer(int64_t bytes, int32_t a, int32_t b) const;
  [[nodiscard]] double TransferNoise(uint32_t meeting, uint32_t instance) const;
  [[nodiscard]] int64_t EndJitter(const Arrival& arrival) const;
  void CompleteAll(const GroupModel& group, double noise, std::span<Arrival> arrivals) const;
  void CompleteRooted(const GroupModel& group, double noise, std::span<Arrival> arrivals) const;
  void CompletePair(double noise, std::span<Arrival> arrivals) const;
  void CompleteExchange(const RankGroup& group, const GroupModel& model, double noise,
                        std::span<Arrival> arrivals) const;

  const Cluster& cluster_;
  const CauseEffects& effects_;
  NoiseModel noise_;
  CounterRng rng_;
  int64_t step_ = 0;
  std::vector<double> device_factor_;  // spread between devices, by rank
  std::vector<double> slow_part_;      // AR(1), by rank; 0 = as usual
  std::vector<double> speed_;          // both together with the rank's work in this step
  std::vector<double> expert_factor_;  // by rank, in this step
  std::vector<double> copy_factor_;    // by rank, in this step
  std::vector<double> kernel_sigma_;   // by kernel
  std::vector<GroupModel> groups_;     // by communicator
};

}  // namespace lockstep
