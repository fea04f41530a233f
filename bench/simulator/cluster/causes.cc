#include "bench/simulator/cluster/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "bench/simulator/command/spec_values.h"

namespace lockstep {
namespace {

constexpr double kMostUs = 10e6;
constexpr double kUsualCopyGbps = 50;  // of the copies of an undisturbed rank
constexpr double kNotableShare = 0.05;

// A row for each kind: what it is called, where it strikes, and what an analysis should call it.
struct KindRow {
  std::string_view name;
  InjectedKind kind;
  std::string_view place_key;
  std::string_view category;
};
constexpr std::array kKinds = {
    KindRow{"slow_gpu", InjectedKind::kSlowGpu, "rank", "slow_device"},
    KindRow{"slow_kernel", InjectedKind::kSlowKernel, "rank", "slow_kernel"},
    KindRow{"more_work", InjectedKind::kMoreWork, "rank", "more_work"},
    KindRow{"late_host", InjectedKind::kLateHost, "rank", "host_delay"},
    KindRow{"periodic_pause", InjectedKind::kPeriodicPause, "rank", "host_pause"},
    KindRow{"data_stall", InjectedKind::kDataStall, "rank", "host_pause"},
    KindRow{"copy_contention", InjectedKind::kCopyContention, "rank", "copies"},
    KindRow{"slow_rail", InjectedKind::kSlowRail, "rail", "transfer"},
    KindRow{"stage_imbalance", InjectedKind::kStageImbalance, "stage", "more_work"},
    KindRow{"expert_imbalance", InjectedKind::kExpertImbalance, "expert", "more_work"},
    KindRow{"transient", InjectedKind::kTransient, "rank", "slow_device"},
    KindRow{"always_last", InjectedKind::kAlwaysLast, "host", "dependency"},
};

const KindRow& RowOf(std::string_view name) {
  const auto row = std::find_if(kKinds.begin(), kKinds.end(), [&](const KindRow& r) { return r.name == name; });
  LOCKSTEP_CHECK(row != kKinds.end());  // the command line knows the same kinds
  return *row;
}

int32_t StagesOf(const Cluster& cluster) {
  int32_t last = 0;
  for (const RankPlace& place : cluster.ranks) last = std::max(last, place.stage);
  return last + 1;
}

// Position in the expert-parallel group; 0 = there is none.
int32_t ExpertOf(const Cluster& cluster, int32_t rank) {
  const int32_t group = cluster.CommunicatorOf(rank, GroupKind::kEp);
  return group < 0 ? 0 : cluster.PositionIn(cluster.communicators[static_cast<size_t>(group)], rank);
}

int32_t ExpertsOf(const Cluster& cluster) {
  const int32_t group = cluster.CommunicatorOf(0, GroupKind::kEp);
  return group < 0 ? 1 : static_cast<int32_t>(cluster.communicators[static_cast<size_t>(group)].members.size());
}

// How many places of this kind there are.
int32_t CountOf(std::string_view scope, const Cluster& cluster) {
  if (scope == "host") return cluster.hosts;
  if (scope == "rail") return cluster.gpus_per_host;
  if (scope == "stage") return StagesOf(cluster);
  if (scope == "expert") return ExpertsOf(cluster);
  return cluster.world();
}

bool IsAt(std::string_view scope, int32_t place, const Cluster& cluster, int32_t rank) {
  const RankPlace& at = cluster.ranks[static_cast<size_t>(rank)];
  if (scope == "host") return at.host == place;
  if (scope == "rail") return at.device == place;
  if (scope == "stage") return at.stage == place;
  if (scope == "expert") return ExpertOf(cluster, rank) == place;
  return rank == place;
}

absl::Status Place(const Spec& spec, const Cluster& cluster, const CounterRng& rng, std::string_view usual,
                   Cause& cause) {
  const bool by_host = spec.values.contains("host");
  if (by_host && spec.values.contains("rank")) {
    return absl::InvalidArgumentError(fmt::format("--cause {}: give rank or host, not both", spec.kind));
  }
  cause.scope = by_host ? "host" : std::string(usual);
  const int32_t count = CountOf(cause.scope, cluster);
  LOCKSTEP_ASSIGN_OR_RETURN(const std::optional<int32_t> given, IndexOf("--cause", spec, cause.scope, count));
  const DrawKey key{.step = static_cast<int64_t>(cause.kind), .op = cause.ordinal, .purpose = Purpose::kCauseRank};
  cause.place = given ? *given : static_cast<int32_t>(rng.UniformInt(key, 0, count - 1));
  for (int32_t rank = 0; rank < cluster.world(); ++rank) {
    if (IsAt(cause.scope, cause.place, cluster, rank)) cause.ranks.push_back(rank);
  }
  if (cause.scope != "expert") {
    cause.parameters[cause.scope] = cause.place;
  } else {
    cause.scope = "rank";
    cause.place = cause.ranks.front();
  }
  return absl::OkStatus();
}

// Reads a parameter into the cause's list and gives it back.
absl::StatusOr<double> Parameter(const Spec& spec, const std::string& key, const RealRange& range, Cause& cause) {
  LOCKSTEP_ASSIGN_OR_RETURN(const double value, RealOr("--cause", spec, key, range));
  cause.parameters[key] = value;
  return value;
}

absl::Status TakePause(const Spec& spec, const std::string& key, const RealRange& range, Cause& cause) {
  LOCKSTEP_ASSIGN_OR_RETURN(const double length, Parameter(spec, key, range, cause));
  cause.delay_ns = std::llround(length * (key == "us" ? 1e3 : 1e6));
  return absl::OkStatus();
}

absl::Status TakeFactor(const Spec& spec, double usual, Cause& cause) {
  LOCKSTEP_ASSIGN_OR_RETURN(cause.factor, Parameter(spec, "factor", {usual, 0.01, 1000}, cause));
  return absl::OkStatus();
}

absl::Status TakeProbability(const Spec& spec, double usual, Cause& cause) {
  LOCKSTEP_ASSIGN_OR_RETURN(cause.probability, Parameter(spec, "p", {usual, 0, 1}, cause));
  return absl::OkStatus();
}

absl::Status TakeSteps(const Spec& spec, Cause& cause) {
  LOCKSTEP_ASSIGN_OR_RETURN(const double from, Parameter(spec, "from", {0, 0, 1e9}, cause));
  LOCKSTEP_ASSIGN_OR_RETURN(const double to, Parameter(spec, "to", {from + 10, from, 1e9}, cause));
  cause.from_step = std::llround(from);
  cause.to_step = std::llround(to);
  return TakeFactor(spec, 1.3, cause);
}

absl::Status TakeStrength(const Spec& spec, const Cluster& cluster, Cause& cause) {
  switch (cause.kind) {
    case InjectedKind::kSlowGpu:
      return TakeFactor(spec, 1.1, cause);
    case InjectedKind::kSlowKernel:
      if (const auto name = spec.values.find("kernel"); name != spec.values.end()) cause.kernel = name->second;
      return TakeFactor(spec, 1.5, cause);
    case InjectedKind::kMoreWork:
    case InjectedKind::kStageImbalance:
      return TakeFactor(spec, 1.2, cause);
    case InjectedKind::kSlowRail:
      return TakeFactor(spec, 2, cause);
    case InjectedKind::kTransient:
      return TakeSteps(spec, cause);
    case InjectedKind::kLateHost:
      LOCKSTEP_RETURN_IF_ERROR(TakePause(spec, "us", {300, 0, kMostUs}, cause));
      return TakeProbability(spec, 0.02, cause);
    case InjectedKind::kAlwaysLast:
      return TakePause(spec, "us", {60, 0, kMostUs}, cause);
    case InjectedKind::kDataStall:
      LOCKSTEP_RETURN_IF_ERROR(TakePause(spec, "ms", {20, 0, kMostUs / 1e3}, cause));
      return TakeProbability(spec, 0.1, cause);
    case InjectedKind::kPeriodicPause: {
      LOCKSTEP_ASSIGN_OR_RETURN(const double every, Parameter(spec, "every", {10, 1, 1e9}, cause));
      cause.every = std::llround(every);
      return TakePause(spec, "ms", {20, 0, kMostUs / 1e3}, cause);
    }
    case InjectedKind::kCopyContention: {
      LOCKSTEP_ASSIGN_OR_RETURN(const double gbps, Parameter(spec, "gbps", {5, 0.001, kUsualCopyGbps}, cause));
      cause.factor = kUsualCopyGbps / gbps;
      return absl::OkStatus();
    }
    case InjectedKind::kExpertImbalance: {
      const double most = ExpertsOf(cluster) - 1;
      LOCKSTEP_ASSIGN_OR_RETURN(const double skew, Parameter(spec, "skew", {std::min(0.5, most), 0, most}, cause));
      cause.factor = 1 + skew;
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

// A cause of a place that this cluster has but once would strike everybody, or nobody.
absl::Status CheckSense(const KindRow& row, const Cluster& cluster) {
  const auto needs = [&](std::string_view flag) {
    return absl::InvalidArgumentError(fmt::format("--cause {} needs {} above 1", row.name, flag));
  };
  if (row.kind == InjectedKind::kStageImbalance && StagesOf(cluster) < 2) return needs("--pp");
  if (row.kind == InjectedKind::kExpertImbalance && ExpertsOf(cluster) < 2) return needs("--ep");
  if (row.kind == InjectedKind::kSlowRail && cluster.hosts < 2) return needs("--hosts");
  return absl::OkStatus();
}

absl::StatusOr<Cause> MakeCause(const Spec& spec, uint32_t ordinal, const Cluster& cluster, const CounterRng& rng) {
  const KindRow& row = RowOf(spec.kind);
  Cause cause{.kind = row.kind, .name = spec.kind, .ordinal = ordinal};
  LOCKSTEP_RETURN_IF_ERROR(CheckSense(row, cluster));
  LOCKSTEP_RETURN_IF_ERROR(Place(spec, cluster, rng, row.place_key, cause));
  LOCKSTEP_RETURN_IF_ERROR(TakeStrength(spec, cluster, cause));
  return cause;
}

}  // namespace

std::string_view CategoryOf(InjectedKind kind) {
  const auto row = std::find_if(kKinds.begin(), kKinds.end(), [&](const KindRow& r) { return r.kind == kind; });
  return row->category;
}

absl::StatusOr<std::vector<Cause>> PlaceCauses(const std::vector<Spec>& specs, const Cluster& cluster,
                                               const CounterRng& rng) {
  std::vector<Cause> causes;
  std::map<std::string, uint32_t> count;
  for (const Spec& spec : specs) {
    if (spec.kind == "none") continue;
    LOCKSTEP_ASSIGN_OR_RETURN(Cause cause, MakeCause(spec, count[spec.kind]++, cluster, rng));
    causes.push_back(std::move(cause));
  }
  return causes;
}

std::vector<uint32_t> KernelsHit(const Cause& cause, const StepProgram& program, const CounterRng& rng) {
  std::map<uint32_t, int64_t> time;
  int64_t total = 0;
  for (const Op& op : program.StepOf(0, cause.ranks.front()).ops) {
    if (op.kind != OpKind::kKernel) continue;
    time[op.kernel] += op.device_ns;
    total += op.device_ns;
  }
  std::vector<uint32_t> hit;
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
                           const CounterRng& rng, const Cluster* cluster, const StepProgram* program)
    : ranks_(static_cast<size_t>(world)), rng_(rng), program_(program) {
  for (size_t i = 0; i < causes.size(); ++i) {
    if (without == i) continue;
    if (causes[i].kind == InjectedKind::kSlowRail) {
      rails_.emplace(causes[i].place, 1.0).first->second *= causes[i].factor;
    } else if (causes[i].kind == InjectedKind::kExpertImbalance) {
      if (cluster != nullptr) SpreadTokens(causes[i], *cluster);
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
      if (program_ == nullptr) break;
      for (const uint32_t kernel : KernelsHit(cause, *program_, rng_)) {
        own.kernels.emplace(kernel, 1.0).first->second *= cause.factor;
      }
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
    case InjectedKind::kLateHost:
      own.late.push_back(&cause);
      break;
    case InjectedKind::kPeriodicPause:
    case InjectedKind::kDataStall:
      own.pauses.push_back(&cause);
      break;
    case InjectedKind::kCopyContention:
      own.copy *= cause.factor;
      break;
    case InjectedKind::kSlowRail:
    case InjectedKind::kExpertImbalance:
      break;  // of rails and of all ranks
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

bool CauseEffects::Strikes(const Cause& cause, DrawKey key) const {
  key.step += static_cast<int64_t>(cause.ordinal) << 40;
  return rng_.Chance(key, cause.probability);
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

double CauseEffects::WorkFactor(int32_t rank, int64_t) const { return ranks_[static_cast<size_t>(rank)].work; }

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
