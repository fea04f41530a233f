#include <algorithm>

#include "analysis/metrics/causes/blame.h"
#include "analysis/metrics/causes/host_excess.h"
#include "analysis/metrics/causes/kernel_excess.h"

namespace lockstep {
namespace {

constexpr double kMinExcess = 0.001;       // of the peers' compute time: less is no cause
constexpr double kLeastExplained = 0.25;   // of the lateness, by what its kernels exceed those of its peers
constexpr double kWorkStandsOut = 0.5;     // share of the extra work that makes its kernel worth a name
constexpr double kMostlyPauses = 0.5;      // of the host's excess
constexpr double kPausesAreSeldom = 1.25;  // pauses a step: more are late launches

OriginCause ExplainCompute(const RunData& run, const RankResolution& ranks, int32_t rank_index, double of_compute) {
  const KernelExcess excess = CompareKernels(run, ranks, rank_index);
  const double largest = std::max({excess.work, excess.device, excess.kernel});
  if (!excess.compared || largest < kMinExcess) return {};
  const double all = std::max(0.0, excess.work) + std::max(0.0, excess.device) + std::max(0.0, excess.kernel);
  if (all < kLeastExplained * of_compute) return {};
  OriginCause out;
  if (excess.work == largest) {
    out.kind = CauseKind::kMoreWork;
    out.excess_ratio = excess.work;
    if (excess.work_share >= kWorkStandsOut) {
      out.kernel = run.names[excess.work_name];
      out.excess_ratio = excess.work_ratio - 1;
    }
  } else if (excess.kernel == largest) {
    out.kind = CauseKind::kSlowKernel;
    out.kernel = run.names[excess.kernel_name];
    out.excess_ratio = excess.kernel_ratio - 1;
  } else {
    out.kind = CauseKind::kSlowDevice;
    out.excess_ratio = excess.device_ratio - 1;
  }
  return out;
}

OriginCause ExplainHost(const ArrivalGraph& graph, int32_t rank_index) {
  const HostExcess excess = CompareHosts(graph, rank_index);
  const bool seldom = static_cast<double>(excess.pauses) <= kPausesAreSeldom * static_cast<double>(excess.steps);
  OriginCause out;
  out.kind = seldom && excess.in_pauses >= kMostlyPauses ? CauseKind::kHostPause : CauseKind::kHostDelay;
  return out;
}

}  // namespace

OriginCause ExplainOrigin(const RunData& run, const RankResolution& ranks, const ArrivalGraph& graph,
                          int32_t rank_index, LatenessPart part, double of_compute) {
  OriginCause out;
  switch (part) {
    case LatenessPart::kCompute:
      return ExplainCompute(run, ranks, rank_index, of_compute);
    case LatenessPart::kHost:
      return ExplainHost(graph, rank_index);
    case LatenessPart::kCopy:
      out.kind = CauseKind::kCopies;
      return out;
    case LatenessPart::kTransfer:
    case LatenessPart::kCarryIn:
      out.kind = CauseKind::kTransfer;
      return out;
    case LatenessPart::kDependency:
      out.kind = CauseKind::kDependency;
      return out;
    case LatenessPart::kWait:
    case LatenessPart::kLaunch:
    case LatenessPart::kRest:
      return out;
  }
  return out;
}

}  // namespace lockstep
