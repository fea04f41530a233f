#include "bench/simulator/engine/device_model.h"

#include <algorithm>
#include <cmath>

#include "analysis/base/check.h"
#include "bench/simulator/engine/exchange.h"

namespace lockstep {
namespace {

constexpr double kCopySigma = 0.03;
constexpr double kHostWorkSigma = 0.03;
constexpr double kHiccupChance = 0.0003;
constexpr double kLinkBytesPerNs = 300;    // inside a host
constexpr double kNetworkBytesPerNs = 45;  // between hosts
constexpr double kNvlsSpeedup = 1.4;       // reductions in the switch, inside a host
constexpr double kLinkLatencyNs = 6'000;
constexpr double kNetworkLatencyNs = 22'000;
constexpr double kDirectLatencyNs = 3'500;  // kernels that write straight into their peers' memory
constexpr double kHopNs = 250;              // each further member of a ring
constexpr double kTreeHopNs = 900;          // each level of a tree
constexpr double kPushNs = 2'000;           // to hand a message to the transport's buffers, or to take it from there
constexpr int64_t kTransportBufferBytes = 512 * 1024;  // what a sender hands over without waiting for the receiver
constexpr double kShortestTransferNs = 1'000;

int64_t Scaled(int64_t ns, double factor) { return std::llround(static_cast<double>(ns) * factor); }
int64_t Rounded(double ns) { return std::llround(ns); }

// Bytes that each member sends, with a ring.
double RingBytes(const Op& op, double members) {
  const auto bytes = static_cast<double>(op.bytes);
  if (op.collective == CollectiveOp::kAllReduce) return 2 * bytes * (members - 1) / members;
  if (op.root >= 0) return bytes;
  return bytes * (members - 1);  // the size counts one member's share
}

double Levels(double members) {
  double levels = 0;
  for (double reach = 1; reach < members; reach *= 2) ++levels;
  return levels;
}

int64_t LastStart(std::span<const Arrival> arrivals) {
  int64_t last = arrivals.front().start_ns;
  for (const Arrival& arrival : arrivals) last = std::max(last, arrival.start_ns);
  return last;
}

}  // namespace

std::vector<double> DeviceFactors(const Cluster& cluster, const NoiseModel& noise, const CounterRng& rng) {
  std::vector<double> factors;
  for (int32_t rank = 0; rank < cluster.world(); ++rank) {
    const DrawKey key{.rank = rank, .purpose = Purpose::kDeviceSpread};
    factors.push_back(ExpNearZero(noise.device_spread * rng.Normal(key)));
  }
  return factors;
}

DeviceModel::DeviceModel(const Cluster& cluster, const StepProgram& program, const CauseEffects& effects,
                         const NoiseModel& noise, const CounterRng& rng)
    : cluster_(cluster),
      effects_(effects),
      noise_(noise),
      rng_(rng),
      device_factor_(DeviceFactors(cluster, noise, rng)),
      slow_part_(cluster.ranks.size(), 0),
      speed_(cluster.ranks.size(), 1),
      expert_factor_(cluster.ranks.size(), 1),
      copy_factor_(cluster.ranks.size(), 1) {
  for (uint32_t kernel = 0; kernel < program.kernels().size(); ++kernel) {
    const DrawKey key{.op = kernel, .purpose = Purpose::kKernelSigma};
    kernel_sigma_.push_back(noise.kernel_sigma_lo +
                            (noise.kernel_sigma_hi - noise.kernel_sigma_lo) * rng_.Uniform(key, 0, 1));
  }
  for (size_t i = 0; i < cluster.communicators.size(); ++i) {
    groups_.push_back(ModelOf(cluster.communicators[i], static_cast<int32_t>(i)));
  }
}

DeviceModel::GroupModel DeviceModel::ModelOf(const RankGroup& group, int32_t index) const {
  const size_t size = group.members.size();
  GroupModel model{.members = static_cast<double>(size), .far = cluster_.SpansHosts(group)};
  for (const int32_t rank : group.members) {
    if (!model.far) break;
    const int32_t rail = cluster_.ranks[static_cast<size_t>(rank)].device;
    model.rail_factor = std::max(model.rail_factor, effects_.RailFactor(rail));
  }
  const DrawKey key{.op = static_cast<uint32_t>(index), .purpose = Purpose::kRingOrder};
  const size_t begin = rng_.Bits(key) % size;
  const double levels = std::max(1.0, Levels(model.members + 1) - 1);
  for (size_t position = 0; position < size; ++position) {
    const size_t place = (position + size - begin) % size;
    model.share.push_back(1 - static_cast<double>(place) / std::max(1.0, model.members - 1));
    model.tree_share.push_back(1 - (Levels(static_cast<double>(place) + 2) - 1) / levels);
  }
  return model;
}

void DeviceModel::BeginStep(int64_t step) {
  step_ = step;
  const double fresh = step == 0 ? 1.0 : std::sqrt(1 - noise_.rho * noise_.rho);
  for (int32_t rank = 0; rank < cluster_.world(); ++rank) {
    const auto at = static_cast<size_t>(rank);
    if (noise_.rho > 0) {
      const DrawKey key{.rank = rank, .step = step, .purpose = Purpose::kSlowPart};
      slow_part_[at] = noise_.rho * slow_part_[at] + fresh * noise_.rho_sigma * rng_.Normal(key);
    }
    speed_[at] = device_factor_[at] * ExpNearZero(slow_part_[at]) * effects_.WorkFactor(rank, step);
    expert_factor_[at] = effects_.ExpertFactor(rank, step);
    copy_factor_[at] = effects_.CopyFactor(rank, step);
  }
}

HostTimes DeviceModel::TimesOfHost(const OpDraws& draws, int32_t rank, const Op& op) const {
  const bool launches = StartsDeviceWork(op.kind) || op.kind == OpKind::kGraphLaunch;
  const uint64_t bits = draws.Bits(Purpose::kHostTimes);
  HostTimes times{.dispatch_ns = OpDraws::Part(bits, 0, 1'300, 2'500),
                  .call_ns = launches ? OpDraws::Part(bits, 1, 1'800, 2'600) : OpDraws::Part(bits, 1, 500, 900),
                  .latency_ns = OpDraws::Part(bits, 2, 3'000, 4'200),
                  .stream_gap_ns = OpDraws::Part(bits, 3, 500, 1'100)};
  if (op.host_before_ns > 0) {
    times.dispatch_ns += Scaled(op.host_before_ns, ExpNearZero(kHostWorkSigma * draws.Normal(Purpose::kHostWork)));
  }
  if (draws.Unit(Purpose::kHiccup) < kHiccupChance) {
    times.dispatch_ns += draws.Int(Purpose::kHiccupLength, 100'000, 200'000);
  }
  if (op.call_ns > 0) {
    // All ranks of a job ask their allocators for the same.
    const OpDraws shared(rng_, -1, step_, op.draw);
    times.call_ns += Scaled(op.call_ns, shared.Exponential(Purpose::kAllocLength));
  }
  if (StartsKernels(op.kind)) {
    const int64_t longer = effects_.LaunchCall(rank);
    times.call_ns += longer;
    times.latency_ns += longer;
  }
  if (op.kind == OpKind::kGraphLaunch) times.latency_ns += draws.Int(Purpose::kGraphLatency, 3'000, 6'000);
  return times;
}

int64_t DeviceModel::SyncReturn(const OpDraws& draws) const { return draws.Int(Purpose::kSyncReturn, 2'000, 5'000); }

int64_t DeviceModel::EarlyStart(const OpDraws& draws) const { return draws.Int(Purpose::kEarlyStart, 800, 2'500); }

int64_t DeviceModel::Length(const OpDraws& draws, const OpPlace& place, const Op& op) const {
  const auto at = static_cast<size_t>(place.rank);
  if (op.kind == OpKind::kCollective) return 0;
  if (op.kind != OpKind::kKernel) {
    return Scaled(op.device_ns, copy_factor_[at] * ExpNearZero(kCopySigma * draws.Normal(Purpose::kCopyNoise)));
  }
  double factor = speed_[at] * effects_.KernelFactor(place.rank, step_, op.kernel);
  factor *= effects_.InstanceFactor(place, op.kernel);
  if (op.expert) factor *= expert_factor_[at];
  return Scaled(op.device_ns, factor * ExpNearZero(kernel_sigma_[op.kernel] * draws.Normal(Purpose::kKernelNoise)));
}

double DeviceModel::UsualTransfer(const Op& op, const GroupModel& group) const {
  const double n = group.members;
  const double bytes = RingBytes(op, n);
  if (group.far) {
    const double hops = op.transport == Transport::kTree ? kTreeHopNs * 2 * Levels(n) : kHopNs * (n - 2);
    return (kNetworkLatencyNs + hops + bytes / kNetworkBytesPerNs) * group.rail_factor;
  }
  switch (op.transport) {
    case Transport::kTree:
      return kLinkLatencyNs + kTreeHopNs * Levels(n) + bytes / kLinkBytesPerNs;
    case Transport::kNvls:
      return kLinkLatencyNs + bytes / (kLinkBytesPerNs * kNvlsSpeedup);
    case Transport::kSymmetric:
    case Transport::kCustom:
      return kDirectLatencyNs + bytes / kLinkBytesPerNs;
    case Transport::kRing:
      break;
  }
  return kLinkLatencyNs + kHopNs * (n - 2) + bytes / kLinkBytesPerNs;
}

double DeviceModel::PairTransfer(int64_t bytes, int32_t a, int32_t b) const {
  if (cluster_.SameHost(a, b)) return kLinkLatencyNs + static_cast<double>(bytes) / kLinkBytesPerNs;
  const double rail = std::max(effects_.RailFactor(cluster_.ranks[static_cast<size_t>(a)].device),
                               effects_.RailFactor(cluster_.ranks[static_cast<size_t>(b)].device));
  return (kNetworkLatencyNs + static_cast<double>(bytes) / kNetworkBytesPerNs) * rail;
}

double DeviceModel::TransferNoise(uint32_t meeting, uint32_t instance) const {
  const OpDraws draws(rng_, -1 - static_cast<int32_t>(meeting), step_, instance);
  return ExpNearZero(noise_.transfer_sigma * draws.Normal(Purpose::kTransfer));
}

int64_t DeviceModel::EndJitter(const Arrival& arrival) const {
  const OpDraws draws(rng_, arrival.rank, step_, arrival.draw);
  return Rounded(noise_.end_jitter_us * 1e3 * draws.Exponential(Purpose::kEndJitter));
}

void DeviceModel::CompleteInstance(int32_t communicator, uint32_t meeting, uint32_t instance,
                                   std::span<Arrival> arrivals) const {
  const auto index = static_cast<size_t>(communicator);
  const double noise = TransferNoise(meeting, instance) * effects_.TransferFactor();
  const Op& op = *arrivals.front().op;
  if (IsPairwise(op)) return CompletePair(noise, arrivals);
  if (op.collective == CollectiveOp::kAllToAllV) {
    return CompleteExchange(cluster_.communicators[index], groups_[index], noise, arrivals);
  }
  if (op.root >= 0) return CompleteRooted(groups_[index], noise, arrivals);
  CompleteAll(groups_[index], noise, arrivals);
}

void DeviceModel::CompleteAll(const GroupModel& group, double noise, std::span<Arrival> arrivals) const {
  const Op& op = *arrivals.front().op;
  const int64_t all_started = LastStart(arrivals);
  const double transfer = std::max(kShortestTransferNs, UsualTransfer(op, group) * noise);
  const bool by_position = op.transport == Transport::kRing || op.transport == Transport::kTree;
  const std::vector<double>& shares = op.transport == Transport::kTree ? group.tree_share : group.share;
  for (Arrival& arrival : arrivals) {
    const double early = by_position ? shares[static_cast<size_t>(arrival.position)] * noise_.end_frac : 0;
    arrival.end_ns = all_started + Rounded(transfer * (1 - early)) + EndJitter(arrival);
  }
}

// A sender hands a small message over and is done; a large one goes as fast as the receiver takes it. A receiver ends
// once everything has come.
void DeviceModel::CompletePair(double noise, std::span<Arrival> arrivals) const {
  LOCKSTEP_CHECK(arrivals.size() == 2);
  for (Arrival& arrival : arrivals) arrival.end_ns = arrival.start_ns;
  for (size_t side = 0; side < 2; ++side) {
    Arrival& sender = arrivals[side];
    Arrival& receiver = arrivals[1 - side];
    if (sender.op->send_to < 0) continue;
    const int64_t bytes = sender.op->bytes;
    const int64_t transfer = Rounded(PairTransfer(bytes, sender.rank, receiver.rank) * noise);
    const bool handed_over = bytes <= kTransportBufferBytes;
    const int64_t begin = handed_over ? sender.start_ns : std::max(sender.start_ns, receiver.start_ns);
    const int64_t push =
        Rounded(kPushNs + static_cast<double>(std::min(bytes, kTransportBufferBytes)) / kLinkBytesPerNs);
    const int64_t sent = handed_over ? begin + push : begin + std::max(push, transfer - push);
    const int64_t received = std::max(begin + transfer, receiver.start_ns + Rounded(kPushNs));
    sender.end_ns = std::max(sender.end_ns, sent);
    receiver.end_ns = std::max(receiver.end_ns, received);
  }
  for (Arrival& arrival : arrivals) arrival.end_ns += EndJitter(arrival);
}

// Data flows along the ring: from the root onwards, or from the root's successor round to it. Who only passes on or
// takes in needs those before it, and with a large message, which fills the buffers on the way, those after it too.
void DeviceModel::CompleteRooted(const GroupModel& group, double noise, std::span<Arrival> arrivals) const {
  const Op& op = *arrivals.front().op;
  const auto size = static_cast<int32_t>(arrivals.size());
  const int32_t begin = op.collective == CollectiveOp::kReduce ? (op.root + 1) % size : op.root;
  std::vector<Arrival*> chain(arrivals.size());
  for (Arrival& arrival : arrivals) chain[static_cast<size_t>((arrival.position - begin + size) % size)] = &arrival;
  const bool handed_over = op.bytes <= kTransportBufferBytes;
  const int64_t transfer = Rounded(UsualTransfer(op, group) * noise);
  const int64_t push =
      Rounded(kPushNs + static_cast<double>(std::min(op.bytes, kTransportBufferBytes)) / kLinkBytesPerNs);
  int64_t reached = handed_over ? chain.front()->start_ns : LastStart(arrivals);
  chain.front()->end_ns = reached + (handed_over ? push : std::max(push, transfer - push));
  for (size_t i = 1; i < chain.size(); ++i) {
    reached = std::max(reached + (i == 1 ? transfer : Rounded(kHopNs)), chain[i]->start_ns + push);
    chain[i]->end_ns = reached;
  }
  for (Arrival& arrival : arrivals) arrival.end_ns += EndJitter(arrival);
}

// Everybody ends once all that is meant for it has come and its own messages are on their way.
void DeviceModel::CompleteExchange(const RankGroup& group, const GroupModel& model, double noise,
                                   std::span<Arrival> arrivals) const {
  const Exchange exchange(group, *arrivals.front().op, step_, &effects_, rng_);
  const double latency = model.far ? kNetworkLatencyNs : kLinkLatencyNs;
  const double rate = model.far ? kNetworkBytesPerNs : kLinkBytesPerNs;
  for (Arrival& own : arrivals) {
    int64_t in = 0;
    int64_t out = 0;
    int64_t begin = own.start_ns;
    for (const Arrival& other : arrivals) {
      if (other.rank == own.rank) continue;
      const int64_t comes = exchange.Pair(static_cast<size_t>(other.position), static_cast<size_t>(own.position));
      const int64_t goes = exchange.Pair(static_cast<size_t>(own.position), static_cast<size_t>(other.position));
      if (comes > 0 || goes > kTransportBufferBytes) begin = std::max(begin, other.start_ns);
      in += comes;
      out += goes;
    }
    const double transfer = (latency + static_cast<double>(std::max(in, out)) / rate) * model.rail_factor * noise;
    own.end_ns = begin + Rounded(transfer) + EndJitter(own);
  }
}

}  // namespace lockstep
