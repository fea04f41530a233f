#include "bench/simulator/device_model.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kDeviceSpread = 0.004;
constexpr double kLowestSigma = 0.002;
constexpr double kHighestSigma = 0.02;
constexpr double kTransferSigma = 0.02;
constexpr double kCopySigma = 0.03;
constexpr double kHostWorkSigma = 0.03;
constexpr double kHiccupChance = 0.0003;
constexpr double kLinkBytesPerNs = 300;    // inside a host
constexpr double kNetworkBytesPerNs = 45;  // between hosts
constexpr int64_t kLinkLatencyNs = 6'000;
constexpr int64_t kNetworkLatencyNs = 22'000;
constexpr double kHopNs = 250;  // each further member

DrawKey For(DrawKey key, Purpose purpose) {
  key.purpose = purpose;
  return key;
}

// exp(sigma * z) for the small sigmas used here, from basic arithmetic alone.
double Lognormal(double sigma, double z) {
  const double x = sigma * z;
  return 1 + x + x * x / 2;
}

int64_t Scaled(int64_t ns, double factor) { return std::llround(static_cast<double>(ns) * factor); }

// Bytes that each member sends, with a ring.
double RingBytes(const Op& op, double members) {
  const auto bytes = static_cast<double>(op.bytes);
  if (op.collective == CollectiveOp::kAllReduce) return 2 * bytes * (members - 1) / members;
  return bytes * (members - 1);  // the size counts one member's share
}

}  // namespace

DeviceModel::DeviceModel(const Cluster& cluster, const CauseEffects& effects, const CounterRng& rng)
    : cluster_(cluster), effects_(effects), rng_(rng) {
  for (int32_t rank = 0; rank < cluster.world(); ++rank) {
    const DrawKey key{.rank = rank, .purpose = Purpose::kDeviceSpread};
    device_factor_.push_back(Lognormal(kDeviceSpread, rng_.Normal(key)));
  }
}

int64_t DeviceModel::Dispatch(DrawKey key, const Op& op) const {
  int64_t ns = rng_.UniformInt(For(key, Purpose::kDispatch), 1'300, 2'500);
  if (op.host_before_ns > 0) {
    ns += Scaled(op.host_before_ns, Lognormal(kHostWorkSigma, rng_.Normal(For(key, Purpose::kHostWork))));
  }
  if (rng_.Chance(For(key, Purpose::kHiccup), kHiccupChance)) {
    ns += rng_.UniformInt(For(key, Purpose::kHiccupLength), 100'000, 200'000);
  }
  return ns;
}

int64_t DeviceModel::CallLength(DrawKey key, OpKind kind) const {
  const bool launches = StartsDeviceWork(kind);
  return rng_.UniformInt(For(key, Purpose::kCall), launches ? 1'800 : 500, launches ? 2'600 : 900);
}

int64_t DeviceModel::SyncReturn(DrawKey key) const {
  return rng_.UniformInt(For(key, Purpose::kSyncReturn), 2'000, 5'000);
}

int64_t DeviceModel::LaunchLatency(DrawKey key) const {
  return rng_.UniformInt(For(key, Purpose::kLaunchLatency), 3'000, 4'200);
}

int64_t DeviceModel::StreamGap(DrawKey key) const { return rng_.UniformInt(For(key, Purpose::kStreamGap), 500, 1'100); }

int64_t DeviceModel::Length(DrawKey key, const Op& op) const {
  if (op.kind == OpKind::kCollective) return 0;
  if (op.kind != OpKind::kKernel) {
    return Scaled(op.device_ns, Lognormal(kCopySigma, rng_.Normal(For(key, Purpose::kCopyNoise))));
  }
  const double sigma = rng_.Uniform({.op = op.kernel, .purpose = Purpose::kKernelSigma}, kLowestSigma, kHighestSigma);
  const double noise = Lognormal(sigma, rng_.Normal(For(key, Purpose::kKernelNoise)));
  const auto rank = static_cast<size_t>(key.rank);
  return Scaled(op.device_ns, noise * device_factor_[rank] * effects_.ComputeFactor(key.rank));
}

int64_t DeviceModel::Transfer(DrawKey key, const Op& op, const Communicator& group) const {
  const auto members = static_cast<double>(group.members.size());
  const bool far = cluster_.SpansHosts(group);
  const double rate = far ? kNetworkBytesPerNs : kLinkBytesPerNs;
  const double usual = static_cast<double>(far ? kNetworkLatencyNs : kLinkLatencyNs) + kHopNs * (members - 2) +
                       RingBytes(op, members) / rate;
  const double noise = Lognormal(kTransferSigma, rng_.Normal(For(key, Purpose::kTransfer)));
  return std::max<int64_t>(1'000, std::llround(usual * noise));
}

int64_t DeviceModel::EndJitter(DrawKey key) const { return rng_.UniformInt(For(key, Purpose::kEndJitter), 0, 1'000); }

}  // namespace lockstep
