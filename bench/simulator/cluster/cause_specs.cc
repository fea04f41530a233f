#include "bench/simulator/cluster/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "analysis/base/check.h"
#include "analysis/base/status_macros.h"
#include "bench/simulator/cluster/spec_values.h"

namespace lockstep {
namespace {

constexpr double kMostUs = 10e6;
constexpr double kUsualCopyGbps = 50;  // of the copies of an undisturbed rank
constexpr double kMostScatter = 0.5;   // evenly within 0.87 of the usual length
constexpr std::string_view kStraggler = "persistent_straggler";
constexpr std::string_view kAttention = "flash::flash_";

// A row for each kind: what it is called, where it strikes, what an analysis should call it, and the finding that it
// should lead to.
struct CauseKindRow {
  std::string_view name;
  InjectedKind kind;
  std::string_view place_key;
  std::string_view category;
  std::string_view finding = kStraggler;
};
constexpr std::array kKinds = {
    CauseKindRow{"slow_gpu", InjectedKind::kSlowGpu, "rank", "slow_device", "slow_device"},
    CauseKindRow{"slow_kernel", InjectedKind::kSlowKernel, "rank", "slow_kernel"},
    CauseKindRow{"more_work", InjectedKind::kMoreWork, "rank", "more_work"},
    CauseKindRow{"late_host", InjectedKind::kLateHost, "rank", "host_delay"},
    CauseKindRow{"periodic_pause", InjectedKind::kPeriodicPause, "rank", "host_pause"},
    CauseKindRow{"data_stall", InjectedKind::kDataStall, "rank", "host_pause"},
    CauseKindRow{"copy_contention", InjectedKind::kCopyContention, "rank", "copies"},
    CauseKindRow{"slow_rail", InjectedKind::kSlowRail, "rail", "transfer"},
    CauseKindRow{"stage_imbalance", InjectedKind::kStageImbalance, "stage", "more_work"},
    CauseKindRow{"expert_imbalance", InjectedKind::kExpertImbalance, "expert", "more_work"},
    CauseKindRow{"transient", InjectedKind::kTransient, "rank", "slow_device", "slow_device"},
    CauseKindRow{"always_last", InjectedKind::kAlwaysLast, "host", "dependency"},
    CauseKindRow{"host_bound", InjectedKind::kHostBound, "all", "host_delay", "gpu_idle_host_bound"},
    CauseKindRow{"slow_launch", InjectedKind::kSlowLaunch, "all", "host_delay", "launch_bound"},
    CauseKindRow{"long_attention", InjectedKind::kLongAttention, "all", "slow_kernel", "attention_dominates"},
    CauseKindRow{"kernel_tail", InjectedKind::kKernelTail, "all", "slow_kernel", "kernel_tail"},
    CauseKindRow{"outlier", InjectedKind::kOutlier, "all", "slow_kernel", "outliers"},
    CauseKindRow{"slow_transfer", InjectedKind::kSlowTransfer, "all", "transfer", "exposed_transfer"},
    CauseKindRow{"jitter", InjectedKind::kJitter, "all", "slow_kernel", "exposed_wait"},
    CauseKindRow{"small_kernels", InjectedKind::kSmallKernels, "all", "more_work", "small_kernels"},
    CauseKindRow{"sync", InjectedKind::kSync, "all", "host_delay", "sync_in_step"},
    CauseKindRow{"alloc", InjectedKind::kAlloc, "all", "host_delay", "alloc_hot_path"},
    CauseKindRow{"host_copies", InjectedKind::kHostCopies, "all", "copies", "host_copies_in_loop"},
    CauseKindRow{"big_copies", InjectedKind::kBigCopies, "all", "copies", "copies_dominate"},
    CauseKindRow{"prefill_mix", InjectedKind::kPrefillMix, "all", "more_work", "prefill_blocks_decode"},
    CauseKindRow{"uneven_traffic", InjectedKind::kUnevenTraffic, "replicas", "more_work", "nccl_imbalance"},
    CauseKindRow{"memory_bound", InjectedKind::kMemoryBound, "all", "slow_kernel", "workload_class"},
};

const CauseKindRow& RowOf(std::string_view name) {
  const auto row = std::find_if(kKinds.begin(), kKinds.end(), [&](const CauseKindRow& r) { return r.name == name; });
  LOCKSTEP_CHECK(row != kKinds.end());  // the command line knows the same kinds
  return *row;
}

const CauseKindRow& RowOf(InjectedKind kind) {
  const auto row = std::find_if(kKinds.begin(), kKinds.end(), [&](const CauseKindRow& r) { return r.kind == kind; });
  LOCKSTEP_CHECK(row != kKinds.end());
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

// How many places of this kind there are.
int32_t CountOf(std::string_view scope, const Cluster& cluster) {
  if (scope == "host") return cluster.hosts;
  if (scope == "rail") return cluster.gpus_per_host;
  if (scope == "stage") return StagesOf(cluster);
  if (scope == "expert") return ExpertsOf(cluster);
  if (scope == "all") return 1;
  return cluster.world();
}

bool IsAt(std::string_view scope, int32_t place, const Cluster& cluster, int32_t rank) {
  const RankPlace& at = cluster.ranks[static_cast<size_t>(rank)];
  if (scope == "host") return at.host == place;
  if (scope == "rail") return at.device == place;
  if (scope == "stage") return at.stage == place;
  if (scope == "expert") return ExpertOf(cluster, rank) == place;
  if (scope == "all") return true;
  if (scope == "replicas") {
    return cluster.CommunicatorOf(rank, GroupKind::kDp) == cluster.CommunicatorOf(place, GroupKind::kDp);
  }
  return rank == place;
}

absl::Status Place(const Spec& spec, const Cluster& cluster, const CounterRng& rng, std::string_view usual,
                   Cause& cause) {
  const bool by_host = spec.values.contains("host");
  const bool by_rank = spec.values.contains("rank");
  if (by_host && by_rank) {
    return absl::InvalidArgumentError(fmt::format("--cause {}: give rank or host, not both", spec.kind));
  }
  const bool of_place = by_rank && usual != "replicas";
  cause.scope = by_host ? "host" : of_place ? "rank" : std::string(usual);
  const int32_t count = CountOf(cause.scope, cluster);
  const std::string key_of_place = cause.scope == "replicas" ? "rank" : cause.scope;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::optional<int32_t> given, IndexOf("--cause", spec, key_of_place, count));
  const DrawKey key{.step = static_cast<int64_t>(cause.kind), .op = cause.ordinal, .purpose = Purpose::kCauseRank};
  cause.place = given ? *given : static_cast<int32_t>(rng.UniformInt(key, 0, count - 1));
  for (int32_t rank = 0; rank < cluster.world(); ++rank) {
    if (IsAt(cause.scope, cause.place, cluster, rank)) cause.ranks.push_back(rank);
  }
  if (cause.scope == "expert" || cause.scope == "replicas") {
    cause.scope = "rank";
    cause.place = cause.ranks.front();
  } else if (cause.scope != "all") {
    cause.parameters[cause.scope] = cause.place;
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

absl::Status TakeCount(const Spec& spec, const std::string& key, const RealRange& range, int64_t& count) {
  LOCKSTEP_ASSIGN_OR_RETURN(const double value, RealOr("--cause", spec, key, range));
  count = std::llround(value);
  return absl::OkStatus();
}

absl::Status TakeSteps(const Spec& spec, Cause& cause) {
  LOCKSTEP_ASSIGN_OR_RETURN(const double from, Parameter(spec, "from", {0, 0, 1e9}, cause));
  LOCKSTEP_ASSIGN_OR_RETURN(const double to, Parameter(spec, "to", {from + 10, from, 1e9}, cause));
  cause.from_step = std::llround(from);
  cause.to_step = std::llround(to);
  return TakeFactor(spec, 1.3, cause);
}

// Of the causes that have ops of their own.
absl::Status TakeOps(const Spec& spec, Cause& cause) {
  const auto count = [&](const std::string& key, const RealRange& range, int64_t& value) {
    LOCKSTEP_RETURN_IF_ERROR(TakeCount(spec, key, range, value));
    cause.parameters[key] = static_cast<double>(value);
    return absl::OkStatus();
  };
  switch (cause.kind) {
    case InjectedKind::kSmallKernels:
      return count("split", {20, 1, 1000}, cause.count);
    case InjectedKind::kSync:
      return count("every", {1, 1, 1e6}, cause.every);
    case InjectedKind::kAlloc:
      LOCKSTEP_RETURN_IF_ERROR(count("calls", {6, 1, 1e4}, cause.count));
      return TakePause(spec, "us", {800, 0, kMostUs}, cause);
    case InjectedKind::kHostCopies: {
      LOCKSTEP_RETURN_IF_ERROR(count("count", {2, 1, 1e4}, cause.count));
      LOCKSTEP_ASSIGN_OR_RETURN(const double mb, Parameter(spec, "mb", {1, 0.001, 1e5}, cause));
      cause.bytes = std::llround(mb * 1e6);
      return absl::OkStatus();
    }
    case InjectedKind::kPrefillMix:
      LOCKSTEP_RETURN_IF_ERROR(count("every", {10, 2, 1e9}, cause.every));
      return TakeFactor(spec, 1, cause);
    case InjectedKind::kUnevenTraffic:
      return TakeFactor(spec, 3, cause);
    default:
      return TakeFactor(spec, 0.5, cause);  // kBigCopies
  }
}

// Of the causes that change how long things take on all ranks.
absl::Status TakeConditions(const Spec& spec, Cause& cause) {
  if (const auto name = spec.values.find("kernel"); name != spec.values.end()) cause.kernel = name->second;
  switch (cause.kind) {
    case InjectedKind::kHostBound:
      cause.probability = 1;
      return TakePause(spec, "us", {60, 0, kMostUs}, cause);
    case InjectedKind::kSlowLaunch:
      return TakePause(spec, "us", {40, 0, kMostUs}, cause);
    case InjectedKind::kLongAttention:
      cause.kernel = kAttention;
      return TakeFactor(spec, 8, cause);
    case InjectedKind::kKernelTail:
      LOCKSTEP_RETURN_IF_ERROR(TakeProbability(spec, 0.05, cause));
      return TakeFactor(spec, 4, cause);
    case InjectedKind::kOutlier:
      LOCKSTEP_RETURN_IF_ERROR(TakeCount(spec, "count", {5, 1, 1e6}, cause.count));
      cause.parameters["count"] = static_cast<double>(cause.count);
      return TakeFactor(spec, 200, cause);
    case InjectedKind::kSlowTransfer:
      return TakeFactor(spec, 8, cause);
    case InjectedKind::kMemoryBound:
      return TakeFactor(spec, 6, cause);
    default: {  // kJitter
      LOCKSTEP_ASSIGN_OR_RETURN(cause.sigma, Parameter(spec, "sigma", {0.2, 0, kMostScatter}, cause));
      return absl::OkStatus();
    }
  }
}

absl::Status TakeStrength(const Spec& spec, const Cluster& cluster, Cause& cause) {
  if (ChangesProgram(cause.kind)) return TakeOps(spec, cause);
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
    default:
      return TakeConditions(spec, cause);
  }
}

// A cause of a place that this cluster has but once would strike everybody, or nobody.
absl::Status CheckSense(const CauseKindRow& row, const Cluster& cluster) {
  const auto needs = [&](std::string_view flag) {
    return absl::InvalidArgumentError(fmt::format("--cause {} needs {} above 1", row.name, flag));
  };
  if (row.kind == InjectedKind::kStageImbalance && StagesOf(cluster) < 2) return needs("--pp");
  if (row.kind == InjectedKind::kExpertImbalance && ExpertsOf(cluster) < 2) return needs("--ep");
  if (row.kind == InjectedKind::kSlowRail && cluster.hosts < 2) return needs("--hosts");
  if (row.kind == InjectedKind::kUnevenTraffic && cluster.CommunicatorOf(0, GroupKind::kDp) < 0) return needs("--dp");
  return absl::OkStatus();
}

absl::StatusOr<Cause> MakeCause(const Spec& spec, uint32_t ordinal, const Cluster& cluster, const CounterRng& rng) {
  const CauseKindRow& row = RowOf(spec.kind);
  Cause cause{.kind = row.kind, .name = spec.kind, .ordinal = ordinal};
  LOCKSTEP_RETURN_IF_ERROR(CheckSense(row, cluster));
  LOCKSTEP_RETURN_IF_ERROR(Place(spec, cluster, rng, row.place_key, cause));
  LOCKSTEP_RETURN_IF_ERROR(TakeStrength(spec, cluster, cause));
  return cause;
}

}  // namespace

std::string_view CategoryOf(InjectedKind kind) { return RowOf(kind).category; }

std::string_view FindingOf(const Cause& cause) {
  const CauseKindRow& row = RowOf(cause.kind);
  const bool of_one = row.place_key == "all" && cause.scope == "rank";
  return of_one ? kStraggler : row.finding;
}

bool HitsKernels(InjectedKind kind) {
  return kind == InjectedKind::kSlowKernel || kind == InjectedKind::kLongAttention ||
         kind == InjectedKind::kKernelTail || kind == InjectedKind::kOutlier || kind == InjectedKind::kMemoryBound;
}

bool ChangesProgram(InjectedKind kind) {
  return kind >= InjectedKind::kSmallKernels && kind != InjectedKind::kMemoryBound;
}

int32_t ExpertsOf(const Cluster& cluster) {
  const int32_t group = cluster.CommunicatorOf(0, GroupKind::kEp);
  return group < 0 ? 1 : static_cast<int32_t>(cluster.communicators[static_cast<size_t>(group)].members.size());
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

}  // namespace lockstep
