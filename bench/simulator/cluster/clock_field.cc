#include "bench/simulator/cluster/clock_field.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kClip = 3.0;

double ClippedNormal(const CounterRng& rng, const DrawKey& key) { return std::clamp(rng.Normal(key), -kClip, kClip); }

bool AnyMagnitude(const ClockMagnitudes& size) {
  return size.offset_ms > 0 || size.drift_ppm > 0 || size.bias_us > 0 || size.step_us > 0 || size.wander_ppm > 0;
}

}  // namespace

ClockField::ClockField(const SimulatorOptions& options, const Cluster& cluster, const CounterRng& rng, int64_t start_ns,
                       int64_t end_ns)
    : rng_(rng),
      start_ns_(start_ns),
      end_ns_(end_ns),
      tick_ns_(std::max<int64_t>(1, std::llround(options.clock.tick_ns))) {
  const ClockMagnitudes& size = options.clock;
  for (int32_t host = 0; host < cluster.hosts; ++host) {
    const double offset_ms =
        rng.Uniform({.rank = host, .purpose = Purpose::kClockOffset}, -size.offset_ms, size.offset_ms);
    const double ppm = size.drift_ppm * ClippedNormal(rng, {.rank = host, .purpose = Purpose::kClockDrift});
    HostClock& clock = hosts_.emplace_back();
    clock.offset_ns = std::llround(offset_ms * 1e6);
    clock.drift = ppm * 1e-6;
    if (size.wander_ppm > 0) DrawWander(size.wander_ppm, host, clock);
  }
  const double jitter_us = AnyMagnitude(size) ? size.jitter_us : 0;
  for (int32_t rank = 0; rank < cluster.world(); ++rank) {
    const double bias_us = size.bias_us * ClippedNormal(rng, {.rank = rank, .purpose = Purpose::kDeviceBias});
    devices_.push_back({.host = cluster.ranks[static_cast<size_t>(rank)].host,
                        .bias_ns = std::llround(bias_us * 1e3),
                        .jitter_ns = jitter_us * 1e3});
  }
  if (size.step_us > 0) DrawStep(size, cluster.hosts);
}

void ClockField::DrawWander(double ppm, int32_t host, HostClock& clock) const {
  double rate = 0;
  double sum = 0;
  for (int64_t at = start_ns_; at <= end_ns_; at += kWanderNs) {
    clock.wander_ns.push_back(sum);
    clock.wander_rate.push_back(rate);
    sum += rate * static_cast<double>(kWanderNs);
    rate += ppm * 1e-6 * rng_.Normal({.rank = host, .step = at - start_ns_, .purpose = Purpose::kClockWander});
  }
}

// One step of one host in the middle half of the run.
void ClockField::DrawStep(const ClockMagnitudes& size, int32_t hosts) {
  const auto host = rng_.UniformInt({.purpose = Purpose::kClockStep}, 0, hosts - 1);
  const int64_t quarter = (end_ns_ - start_ns_) / 4;
  const int64_t at = start_ns_ + quarter + rng_.UniformInt({.purpose = Purpose::kClockStepTime}, 0, 2 * quarter);
  hosts_[static_cast<size_t>(host)].steps.push_back({.at_ns = at, .size_ns = std::llround(size.step_us * 1e3)});
}

int64_t ClockField::Theta(int32_t host, int64_t true_ns) const {
  const HostClock& clock = hosts_[static_cast<size_t>(host)];
  const int64_t since = true_ns - start_ns_;
  double moved = clock.drift * static_cast<double>(since);
  if (!clock.wander_ns.empty() && since > 0) {
    const auto last = static_cast<int64_t>(clock.wander_ns.size()) - 1;
    const auto at = static_cast<size_t>(std::min(since / kWanderNs, last));
    const int64_t inside = since - static_cast<int64_t>(at) * kWanderNs;
    moved += clock.wander_ns[at] + clock.wander_rate[at] * static_cast<double>(inside);
  }
  int64_t theta = clock.offset_ns + std::llround(moved);
  for (const Step& step : clock.steps) theta += true_ns >= step.at_ns ? step.size_ns : 0;
  return theta;
}

std::vector<int64_t> ClockField::KnotsOf(int32_t host) const {
  const HostClock& clock = hosts_[static_cast<size_t>(host)];
  std::vector<int64_t> knots = {start_ns_, end_ns_};
  for (size_t i = 1; i < clock.wander_ns.size(); ++i) knots.push_back(start_ns_ + static_cast<int64_t>(i) * kWanderNs);
  for (const Step& step : clock.steps) knots.push_back(step.at_ns);
  std::erase_if(knots, [this](int64_t at) { return at > end_ns_; });
  std::sort(knots.begin(), knots.end());
  knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
  return knots;
}

int64_t ClockField::DownToTick(int64_t ns) const {
  const int64_t rest = ((ns % tick_ns_) + tick_ns_) % tick_ns_;
  return ns - rest;
}

int64_t ClockField::DeviceShift(int32_t rank, const Activity& activity) const {
  const DeviceClock& device = devices_[static_cast<size_t>(rank)];
  if (device.jitter_ns == 0) return device.bias_ns;
  const DrawKey key{.rank = rank, .step = activity.step, .op = activity.op, .purpose = Purpose::kClockJitter};
  return device.bias_ns + std::llround(device.jitter_ns * rng_.Normal(key));
}

void ClockField::Record(int32_t rank, const StepProgram& program, RankTimeline& timeline) const {
  const int32_t host = devices_[static_cast<size_t>(rank)].host;
  std::array<int64_t, kStreams> last_start{};
  std::array<int64_t, kStreams> last_end{};
  for (Activity& activity : timeline.activities) {
    activity.call_start_ns += Theta(host, activity.call_start_ns);
    activity.call_end_ns += Theta(host, activity.call_end_ns);
    const Op& op = program.StepOf(activity.step, rank).ops[activity.op];
    if (!StartsDeviceWork(op.kind)) continue;
    const int64_t shift = DeviceShift(rank, activity);
    const auto stream = static_cast<size_t>(op.stream);
    const int64_t start = DownToTick(activity.start_ns + Theta(host, activity.start_ns) + shift);
    const int64_t end = DownToTick(activity.end_ns + Theta(host, activity.end_ns) + shift);
    activity.start_ns = std::max(start, op.early_start ? last_start[stream] : last_end[stream]);
    activity.end_ns = std::max(end, activity.start_ns);
    last_start[stream] = activity.start_ns;
    last_end[stream] = std::max(last_end[stream], activity.end_ns);
  }
  for (StepSpan& span : timeline.steps) {
    span.start_ns += Theta(host, span.start_ns);
    span.end_ns += Theta(host, span.end_ns);
  }
}

}  // namespace lockstep
