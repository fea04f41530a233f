#include "bench/simulator/causes.h"

#include <fmt/format.h>

#include <map>
#include <numeric>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

constexpr int64_t kDefaultDelayUs = 300;
constexpr double kDefaultProbability = 0.02;
constexpr double kDefaultFactor = 1.1;
constexpr int64_t kMaxDelayUs = 10'000'000;

// Reads spec.values[key] as a number between low and high, or gives `otherwise`.
absl::StatusOr<double> RealOr(const Spec& spec, const std::string& key, double otherwise, double low, double high) {
  const auto found = spec.values.find(key);
  if (found == spec.values.end()) return otherwise;
  const auto value = ParseReal(found->second);
  if (!value.ok() || *value < low || *value > high) {
    return absl::InvalidArgumentError(
        fmt::format("--cause {}: {}={} must be a number from {} to {}", spec.kind, key, found->second, low, high));
  }
  return *value;
}

// The index that spec.values[key] names (below `count`), or nothing without that key.
absl::StatusOr<std::optional<int32_t>> IndexOf(const Spec& spec, const std::string& key, int32_t count) {
  const auto found = spec.values.find(key);
  if (found == spec.values.end()) return std::optional<int32_t>();
  const auto value = ParseInteger(found->second);
  if (!value.ok() || *value < 0 || *value >= count) {
    return absl::InvalidArgumentError(
        fmt::format("--cause {}: {}={} must be an integer from 0 to {}", spec.kind, key, found->second, count - 1));
  }
  return std::optional<int32_t>(static_cast<int32_t>(*value));
}

absl::Status Place(const Spec& spec, const Cluster& cluster, const CounterRng& rng, Cause& cause) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::optional<int32_t> rank, IndexOf(spec, "rank", cluster.world()));
  LOCKSTEP_ASSIGN_OR_RETURN(cause.host, IndexOf(spec, "host", cluster.hosts));
  if (rank && cause.host) {
    return absl::InvalidArgumentError(fmt::format("--cause {}: give rank or host, not both", spec.kind));
  }
  if (cause.host) {
    cause.ranks.resize(static_cast<size_t>(cluster.gpus_per_host));
    std::iota(cause.ranks.begin(), cause.ranks.end(), *cause.host * cluster.gpus_per_host);
    return absl::OkStatus();
  }
  if (!rank) {
    const DrawKey key{.step = static_cast<int64_t>(cause.kind), .op = cause.ordinal, .purpose = Purpose::kCauseRank};
    rank = static_cast<int32_t>(rng.UniformInt(key, 0, cluster.world() - 1));
  }
  cause.ranks = {*rank};
  return absl::OkStatus();
}

absl::StatusOr<Cause> MakeCause(const Spec& spec, uint32_t ordinal, const Cluster& cluster, const CounterRng& rng) {
  Cause cause{.kind = spec.kind == "slow_gpu" ? CauseKind::kSlowGpu : CauseKind::kLateHost,
              .name = spec.kind,
              .ordinal = ordinal};
  LOCKSTEP_RETURN_IF_ERROR(Place(spec, cluster, rng, cause));
  if (cause.kind == CauseKind::kSlowGpu) {
    LOCKSTEP_ASSIGN_OR_RETURN(cause.factor, RealOr(spec, "factor", kDefaultFactor, 0.01, 1000));
    return cause;
  }
  LOCKSTEP_ASSIGN_OR_RETURN(const double delay_us, RealOr(spec, "us", kDefaultDelayUs, 0, kMaxDelayUs));
  LOCKSTEP_ASSIGN_OR_RETURN(cause.probability, RealOr(spec, "p", kDefaultProbability, 0, 1));
  cause.delay_ns = static_cast<int64_t>(delay_us * 1000);
  return cause;
}

}  // namespace

absl::StatusOr<std::vector<Cause>> PlaceCauses(const std::vector<Spec>& specs, const Cluster& cluster,
                                               const CounterRng& rng) {
  std::vector<Cause> causes;
  std::map<std::string, uint32_t> count;
  for (const Spec& spec : specs) {
    LOCKSTEP_ASSIGN_OR_RETURN(Cause cause, MakeCause(spec, count[spec.kind]++, cluster, rng));
    causes.push_back(std::move(cause));
  }
  return causes;
}

CauseEffects::CauseEffects(const std::vector<Cause>& causes, std::optional<size_t> without, int32_t world,
                           const CounterRng& rng)
    : factor_(static_cast<size_t>(world), 1.0), late_(static_cast<size_t>(world)), rng_(rng) {
  for (size_t i = 0; i < causes.size(); ++i) {
    if (without == i) continue;
    for (const int32_t rank : causes[i].ranks) {
      const auto at = static_cast<size_t>(rank);
      if (causes[i].kind == CauseKind::kSlowGpu) factor_[at] *= causes[i].factor;
      if (causes[i].kind == CauseKind::kLateHost) late_[at].push_back(&causes[i]);
    }
  }
}

int64_t CauseEffects::LaunchDelay(int32_t rank, int64_t step, uint32_t op) const {
  int64_t delay = 0;
  for (const Cause* cause : late_[static_cast<size_t>(rank)]) {
    // Several causes on one rank must not share a draw: the step field carries the cause's ordinal in its high bits.
    const int64_t keyed = step + (static_cast<int64_t>(cause->ordinal) << 40);
    const DrawKey key{.rank = rank, .step = keyed, .op = op, .purpose = Purpose::kLateHost};
    if (rng_.Chance(key, cause->probability)) delay += cause->delay_ns;
  }
  return delay;
}

}  // namespace lockstep
