#include "bench/simulator/cluster/causes.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace lockstep {
namespace {

constexpr double kNotableShare = 0.05;

}  // namespace

std::vector<uint32_t> KernelsHit(const Cause& cause, const StepProgram& program, const CounterRng& rng) {
  std::map<uint32_t, int64_t> time;
  int64_t total = 0;
  for (const Op& op : program.StepOf(0, cause.ranks.front()).ops) {
    if (op.kind != OpKind::kKernel) continue;
    time[op.kernel] += op.device_ns;
    total += op.device_ns;
  }
  std::vector<uint32_t> hit;
  if (cause.kind == InjectedKind::kMemoryBound) {
    for (const auto& [kernel, ns] : time) {
      if (MovesMemory(program.kernels()[kernel])) hit.push_back(kernel);
    }
    return hit;
  }
  for (const auto& [kernel, ns] : time) {
    const bool fits = cause.kernel.empty() ? static_cast<double>(ns) >= kNotableShare * static_cast<double>(total)
                                           : program.kernels()[kernel].name.find(cause.kernel) != std::string::npos;
    if (fits) hit.push_back(kernel);
  }
  if (!cause.kernel.empty() || hit.size() < 2) return hit;
  const DrawKey key{.op = cause.ordinal, .purpose = Purpose::kCauseKernel};
  return {hit[static_cast<size_t>(rng.UniformInt(key, 0, static_cast<int64_t>(hit.size()) - 1))]};
}

CauseEffects::CauseEffects(const std::vector<Cause>& causes, std::optional<size_t> without, int32_t world,
                           const CounterRng& rng, const Cluster* cluster, const StepProgram* program, int64_t steps)
    : ranks_(static_cast<size_t>(world)), rng_(rng), program_(program), steps_(steps) {
  for (size_t i = 0; i < causes.size(); ++i) {
    if (without == i) continue;
    if (causes[i].kind == InjectedKind::kSlowRail) {
      rails_.emplace(causes[i].place, 1.0).first->second *= causes[i].factor;
    } else if (causes[i].kind == InjectedKind::kExpertImbalance) {
      if (cluster != nullptr) SpreadTokens(causes[i], *cluster);
    } else if (causes[i].kind == InjectedKind::kSlowTransfer) {
      transfer_ *= causes[i].factor;
    } else if (causes[i].kind == InjectedKind::kOutlier) {
      PlaceOutliers(causes[i]);
    } else {
      for (const int32_t rank : causes[i].ranks) Take(causes[i], rank);
    }
  }
}

void CauseEffects::Take(const Cause& cause, int32_t rank) {
  OfRank& own = ranks_[static_cast<size_t>(rank)];
  switch (cause.kind) {
    case InjectedKind::kSlowGpu:
      own.device *= cause.factor;
      break;
    case InjectedKind::kSlowKernel:
    case InjectedKind::kLongAttention:
    case InjectedKind::kKernelTail:
    case InjectedKind::kMemoryBound:
      TakeKernels(cause, rank);
      break;
    case InjectedKind::kMoreWork:
    case InjectedKind::kStageImbalance:
      own.work *= cause.factor;
      break;
    case InjectedKind::kTransient:
      own.transients.push_back(&cause);
      break;
    case InjectedKind::kAlwaysLast:
      own.arrival_ns += cause.delay_ns;
      break;
    case InjectedKind::kSlowLaunch:
      own.launch_call_ns += cause.delay_ns;
      break;
    case InjectedKind::kJitter:
      own.scatter.push_back(&cause);
      break;
    case InjectedKind::kLateHost:
    case InjectedKind::kHostBound:
      own.late.push_back(&cause);
      break;
    case InjectedKind::kPeriodicPause:
    case InjectedKind::kDataStall:
      own.pauses.push_back(&cause);
      break;
    case InjectedKind::kCopyContention:
      own.copy *= cause.factor;
      break;
    default:
      break;  // of rails and transfers, of all ranks together, or of the program
  }
}

void CauseEffects::TakeKernels(const Cause& cause, int32_t rank) {
  if (program_ == nullptr) return;
  OfRank& own = ranks_[static_cast<size_t>(rank)];
  std::vector<uint32_t> hit = KernelsHit(cause, *program_, rng_);
  if (cause.kind == InjectedKind::kKernelTail) {
    own.tails.emplace_back(&cause, std::move(hit));
    return;
  }
  for (const uint32_t kernel : hit) own.kernels.emplace(kernel, 1.0).first->second *= cause.factor;
}

// Each is one instance of a kernel that is hit, of a rank and step that the seed takes.
void CauseEffects::PlaceOutliers(const Cause& cause) {
  if (program_ == nullptr || steps_ == 0) return;
  const std::vector<uint32_t> hit = KernelsHit(cause, *program_, rng_);
  for (int64_t i = 0; i < cause.count; ++i) {
    const auto draw = [&](uint32_t lane, int64_t most) {
      const DrawKey key{
          .rank = static_cast<int32_t>(lane), .step = i, .op = cause.ordinal, .purpose = Purpose::kOutlierPlace};
      return rng_.UniformInt(key, 0, most);
    };
    const int64_t step = draw(0, steps_ - 1);
    const int32_t rank = cause.ranks[static_cast<size_t>(draw(1, static_cast<int64_t>(cause.ranks.size()) - 1))];
    const std::vector<Op>& ops = program_->StepOf(static_cast<int32_t>(step), rank).ops;
    std::vector<uint32_t> places;
    for (uint32_t op = 0; op < ops.size(); ++op) {
      const bool strikes =
          ops[op].kind == OpKind::kKernel && std::find(hit.begin(), hit.end(), ops[op].kernel) != hit.end();
      if (strikes) places.push_back(DrawNumber(ops[op], op));
    }
    if (places.empty()) continue;
    const uint32_t at = places[static_cast<size_t>(draw(2, static_cast<int64_t>(places.size()) - 1))];
    ranks_[static_cast<size_t>(rank)].outliers.emplace(std::pair{step, at}, cause.factor);
  }
}

// The tokens stay as many as they are: what the favoured experts get more, the others get less.
void CauseEffects::SpreadTokens(const Cause& cause, const Cluster& cluster) {
  const int32_t experts = ExpertsOf(cluster);
  if (experts < 2) return;
  const std::set<int32_t> hot(cause.ranks.begin(), cause.ranks.end());
  const double others = (experts - cause.factor) / (experts - 1);
  for (int32_t rank = 0; rank < cluster.world(); ++rank) {
    ranks_[static_cast<size_t>(rank)].expert *= hot.contains(rank) ? cause.factor : others;
  }
}

DrawKey CauseEffects::KeyOf(const Cause& cause, DrawKey key) const {
  key.step += static_cast<int64_t>(cause.ordinal) << 40;
  return key;
}

bool CauseEffects::Strikes(const Cause& cause, DrawKey key) const {
  return rng_.Chance(KeyOf(cause, key), cause.probability);
}

double CauseEffects::KernelFactor(int32_t rank, int64_t step, uint32_t kernel) const {
  const OfRank& own = ranks_[static_cast<size_t>(rank)];
  double factor = own.device;
  if (!own.kernels.empty()) {
    if (const auto hit = own.kernels.find(kernel); hit != own.kernels.end()) factor *= hit->second;
  }
  for (const Cause* cause : own.transients) {
    if (step >= cause->from_step && step < cause->to_step) factor *= cause->factor;
  }
  return factor;
}

// A long instance of a kernel has its reason in the data, which all ranks of a job share: they draw alike. What
// scatters is a rank's whole way from one collective to the next, evenly within bounds, so that no kernel has a tail.
double CauseEffects::InstanceFactor(const OpPlace& place, uint32_t kernel) const {
  const OfRank& own = ranks_[static_cast<size_t>(place.rank)];
  double factor = 1;
  for (const auto& [cause, hit] : own.tails) {
    const DrawKey key{.step = place.step, .op = place.draw, .purpose = Purpose::kKernelTail};
    if (std::find(hit.begin(), hit.end(), kernel) != hit.end() && Strikes(*cause, key)) factor *= cause->factor;
  }
  if (!own.outliers.empty()) {
    if (const auto at = own.outliers.find({place.step, place.draw}); at != own.outliers.end()) factor *= at->second;
  }
  for (const Cause* cause : own.scatter) {
    const DrawKey key{.rank = place.rank, .step = place.step, .op = place.segment, .purpose = Purpose::kScatter};
    factor *= 1 + cause->sigma * std::sqrt(3.0) * rng_.Uniform(KeyOf(*cause, key), -1, 1);
  }
  return factor;
}

double CauseEffects::WorkFactor(int32_t rank, int64_t step) const {
  const double work = ranks_[static_cast<size_t>(rank)].work;
  return length_sigma_ > 0 ? work * LengthFactor(rank, step) : work;
}

void CauseEffects::VaryLengths(double sigma, const Cluster& cluster) {
  length_sigma_ = sigma;
  for (int32_t rank = 0; rank < cluster.world(); ++rank) {
    const int32_t group = cluster.CommunicatorOf(rank, GroupKind::kDp);
    const bool alone = group < 0;
    replica_.push_back(alone ? 0 : cluster.PositionIn(cluster.communicators[static_cast<size_t>(group)], rank));
  }
}

double CauseEffects::LengthFactor(int32_t rank, int64_t step) const {
  constexpr double kParts = 32;  // a batch is filled up to whole blocks of tokens
  const DrawKey key{.rank = replica_[static_cast<size_t>(rank)], .step = step, .purpose = Purpose::kSequenceLength};
  return std::max(1.0, std::round(kParts * (1 + length_sigma_ * rng_.Normal(key)))) / kParts;
}

double CauseEffects::ExpertFactor(int32_t rank, int64_t) const { return ranks_[static_cast<size_t>(rank)].expert; }

double CauseEffects::CopyFactor(int32_t rank, int64_t) const { return ranks_[static_cast<size_t>(rank)].copy; }

double CauseEffects::RailFactor(int32_t rail) const {
  const auto found = rails_.find(rail);
  return found == rails_.end() ? 1 : found->second;
}

int64_t CauseEffects::LaunchDelay(int32_t rank, int64_t step, uint32_t op) const {
  int64_t delay = 0;
  for (const Cause* cause : ranks_[static_cast<size_t>(rank)].late) {
    const DrawKey key{.rank = rank, .step = step, .op = op, .purpose = Purpose::kLateHost};
    if (Strikes(*cause, key)) delay += cause->delay_ns;
  }
  return delay;
}

int64_t CauseEffects::StepDelay(int32_t rank, int64_t step) const {
  int64_t delay = 0;
  for (const Cause* cause : ranks_[static_cast<size_t>(rank)].pauses) {
    if (cause->kind == InjectedKind::kPeriodicPause) {
      const DrawKey key{.rank = rank, .op = cause->ordinal, .purpose = Purpose::kPausePhase};
      const int64_t phase = rng_.UniformInt(key, 0, cause->every - 1);
      if ((step + phase) % cause->every == 0) delay += cause->delay_ns;
    } else if (Strikes(*cause, {.rank = rank, .step = step, .purpose = Purpose::kDataStall})) {
      delay += cause->delay_ns;
    }
  }
  return delay;
}

}  // namespace lockstep
