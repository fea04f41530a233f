// What a tired engineer reads first: who makes whom wait, where the rank-time goes, what bounds the job, what to do
// next.
//
// Rules and thresholds: METRICS.md "Summary". Units: ns. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/fleet_measures.h"
#include "analysis/metrics/imbalance.h"
#include "analysis/metrics/quality.h"
#include "analysis/metrics/tails.h"

namespace lockstep {

// A culprit is named only if the waiting it causes is at least this share of the fleet's rank-time.
inline constexpr double kMaterialShare = 0.005;
inline constexpr size_t kMaxCulprits = 3;
inline constexpr size_t kMaxProblems = 3;

// Shares of the fleet's time over the common window; they sum to 1.
struct TimeShare {
  double compute = 0;
  double exposed_wait = 0;
  double exposed_transfer = 0;
  double exposed_unresolved = 0;
  double copy = 0;
  double opaque = 0;
  double idle = 0;
  double idle_host = 0;  // part of idle: the host asked too late, or launch latency
};

struct Culprit {
  size_t member = 0;  // into Fleet::members
  int64_t caused_wait_ns = 0;
  double share_of_wait = 0;  // of all waiting
  double confidence = 0;     // waiting it certainly caused / waiting in instances where it arrived last at all
  std::string_view cause;    // "slow_compute" | "more_work" | "host_delay" | "copies" | "" = not told
  std::optional<int64_t> worst_start_ns;  // arrival of the culprit in the instance that cost most
};

enum class RunVerdict : uint8_t { kInconclusive = 0, kTransfer, kSkew, kMixed, kCompute, kHost };
[[nodiscard]] std::string_view Name(RunVerdict verdict);

struct WaitBlame {
  int64_t wait_ns = 0;            // of all usable instances
  int64_t unassigned_ns = 0;      // not certainly caused by one rank
  std::vector<Culprit> culprits;  // material ones, worst first, at most kMaxCulprits
};

[[nodiscard]] std::optional<TimeShare> ComputeTimeShare(const FleetMeasures& measures);

// `selects` tells which instances count.
[[nodiscard]] WaitBlame ComputeWaitBlame(const Fleet& fleet, const FleetMeasures& measures, const Imbalance& imbalance,
                                         const std::function<bool(const MatchedInstance&)>& selects);

[[nodiscard]] RunVerdict ComputeVerdict(const std::optional<TimeShare>& share);

// The failed gates that matter most for believing the answer, at most kMaxProblems.
[[nodiscard]] std::vector<Gate> WorstProblems(const std::vector<Gate>& gates);

}  // namespace lockstep
