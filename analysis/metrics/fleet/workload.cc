#include "analysis/metrics/fleet/workload.h"

#include <algorithm>

namespace lockstep {
namespace {

bool MovesMemory(Family family) {
  switch (family) {
    case Family::kNorm:
    case Family::kElementwise:
    case Family::kReduction:
    case Family::kCopy:
    case Family::kEmbedding:
    case Family::kSoftmax:
    case Family::kActivation:
    case Family::kRotary:
    case Family::kSort:
    case Family::kOptimizer:
    case Family::kGemv:
    case Family::kKvCache:
    case Family::kTriton:
    case Family::kQuantization:
    case Family::kAttentionDecode:
      return true;
    default:
      return false;
  }
}

std::optional<double> MemoryShare(const Fleet& fleet) {
  double memory = 0;
  double all = 0;
  for (const FleetRank& member : fleet.members) {
    for (const KernelRow& row : member.source->kernels) {
      if (row.kind.category == Category::kCommunication) continue;
      for (const auto& [slice, sketch] : row.slices) {
        const auto ns = static_cast<double>(sketch.sum());
        all += ns;
        if (MovesMemory(row.kind.family)) memory += ns;
      }
    }
  }
  return all > 0 ? std::optional(memory / all) : std::nullopt;
}

WorkloadClass ClassOf(const Workload& w) {
  const double largest = std::max({w.overhead, w.communication, w.work});
  const double others = w.overhead + w.communication + w.work - largest;
  const double smallest = std::min({w.overhead, w.communication, w.work});
  const double second = others - smallest;
  if (largest <= kBoundShare || largest - second < kBoundLead) return WorkloadClass::kUnknown;
  if (largest == w.overhead) return WorkloadClass::kOverhead;
  if (largest == w.communication) return WorkloadClass::kCommunication;
  if (!w.memory) return WorkloadClass::kUnknown;
  return *w.memory > kMemoryShare ? WorkloadClass::kMemory : WorkloadClass::kCompute;
}

}  // namespace

std::string_view Name(WorkloadClass kind) {
  switch (kind) {
    case WorkloadClass::kOverhead:
      return "overhead";
    case WorkloadClass::kCommunication:
      return "communication";
    case WorkloadClass::kCompute:
      return "compute";
    case WorkloadClass::kMemory:
      return "memory";
    case WorkloadClass::kUnknown:
      break;
  }
  return "";
}

Workload ComputeWorkload(const Fleet& fleet, const FleetMeasures& measures) {
  IntervalMeasure total;
  for (const RankMeasures& rank : measures.ranks) total.Add(rank.common);
  Workload workload;
  if (total.span_ns <= 0) return workload;
  const auto share = [&](int64_t part) { return static_cast<double>(part) / static_cast<double>(total.span_ns); };
  workload.overhead = share(total.idle_host_ns + total.idle_launch_ns);
  workload.communication = share(total.exposed_comm_ns());
  workload.work = share(total.compute_ns + total.copy_only_ns + total.opaque_only_ns);
  workload.memory = MemoryShare(fleet);
  workload.kind = ClassOf(workload);
  return workload;
}

}  // namespace lockstep
