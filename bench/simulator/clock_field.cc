#include "bench/simulator/clock_field.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/simulator/device_model.h"
#include "bench/simulator/step_program.h"

namespace lockstep {
namespace {

constexpr double kClip = 3.0;

double ClippedNormal(const CounterRng& rng, const DrawKey& key) { return std::clamp(rng.Normal(key), -kClip, kClip); }

int64_t DownToTick(int64_t ns) {
  const int64_t rest = ((ns % kDeviceTickNs) + kDeviceTickNs) % kDeviceTickNs;
  return ns - rest;
}

}  // namespace

ClockField::ClockField(const SimulatorOptions& options, const Cluster& cluster, const CounterRng& rng, int64_t start_ns,
                       int64_t end_ns)
    : cluster_(cluster), rng_(rng), start_ns_(start_ns) {
  const ClockMagnitudes& size = options.clock;
  for (int32_t host = 0; host < cluster.hosts; ++host) {
    const double offset_ms =
        rng.Uniform({.rank = host, .purpose = Purpose::kClockOffset}, -size.offset_ms, size.offset_ms);
    const double ppm = size.drift_ppm * ClippedNormal(rng, {.rank = host, .purpose = Purpose::kClockDrift});
    hosts_.push_back({.offset_ns = std::llround(offset_ms * 1e6), .drift = ppm * 1e-6});
  }
  for (int32_t rank = 0; rank < cluster.world(); ++rank) {
    const double bias_us = size.bias_us * ClippedNormal(rng, {.rank = rank, .purpose = Purpose::kDeviceBias});
    const double jitter_us = size.bias_us * rng.Uniform({.rank = rank, .purpose = Purpose::kJitterScale}, 0.15, 0.5);
    devices_.push_back({.bias_ns = std::llround(bias_us * 1e3), .jitter_ns = jitter_us * 1e3});
  }
  const int64_t step_ns = std::llround(size.step_us * 1e3);
  if (step_ns != 0) {
    const auto host = rng.UniformInt({.purpose = Purpose::kClockStep}, 0, cluster.hosts - 1);
    const int64_t middle = (end_ns - start_ns) / 4;
    const int64_t at = start_ns + middle + rng.UniformInt({.purpose = Purpose::kClockStepTime}, 0, 2 * middle);
    hosts_[static_cast<size_t>(host)].steps.push_back({.at_ns = at, .size_ns = step_ns});
  }
}

int64_t ClockField::Theta(int32_t host, int64_t true_ns) const {
  const HostClock& clock = hosts_[static_cast<size_t>(host)];
  int64_t theta = clock.offset_ns + std::llround(clock.drift * static_cast<double>(true_ns - start_ns_));
  for (const Step& step : clock.steps) theta += true_ns >= step.at_ns ? step.size_ns : 0;
  return theta;
}

int64_t ClockField::DeviceShift(int32_t rank, const Activity& activity) const {
  const DeviceClock& device = devices_[static_cast<size_t>(rank)];
  if (device.jitter_ns == 0) return device.bias_ns;
  const DrawKey key{.rank = rank, .step = activity.step, .op = activity.op, .purpose = Purpose::kClockJitter};
  return device.bias_ns + std::llround(device.jitter_ns * rng_.Normal(key));
}

void ClockField::Record(int32_t rank, const StepProgram& program, RankTimeline& timeline) const {
  const int32_t host = cluster_.ranks[static_cast<size_t>(rank)].host;
  std::array<int64_t, kStreams> last_end{};
  for (Activity& activity : timeline.activities) {
    activity.call_start_ns += Theta(host, activity.call_start_ns);
    activity.call_end_ns += Theta(host, activity.call_end_ns);
    const Op& op = program.StepOf(activity.step, rank).ops[activity.op];
    if (!StartsDeviceWork(op.kind)) continue;
    const int64_t shift = DeviceShift(rank, activity);
    int64_t& free = last_end[static_cast<size_t>(op.stream)];
    const int64_t start = DownToTick(activity.start_ns + Theta(host, activity.start_ns) + shift);
    const int64_t end = DownToTick(activity.end_ns + Theta(host, activity.end_ns) + shift);
    activity.start_ns = std::max(start, free);
    activity.end_ns = std::max(end, activity.start_ns);
    free = activity.end_ns;
  }
  for (StepSpan& span : timeline.steps) {
    span.start_ns += Theta(host, span.start_ns);
    span.end_ns += Theta(host, span.end_ns);
  }
}

}  // namespace lockstep
