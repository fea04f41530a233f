// The catalogue: ids of the interface, their checks, and which finding explains which.
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>

#include "analysis/metrics/findings/checks.h"

namespace lockstep {
namespace {

struct Entry {
  std::string_view id;
  Check check;
  // Particular findings that explain this one, or hide what it rests on: where one of them holds, this one is left out.
  std::array<std::string_view, 13> explained_by = {};
};

constexpr std::array kCatalogue = std::to_array<Entry>({
    {"opaque_graphs", OpaqueGraphs},
    {"sync_in_step", SyncInStep},
    {"alloc_hot_path", AllocHotPath},
    {"host_copies_in_loop", HostCopiesInLoop},
    {"small_kernels", SmallKernels, {"opaque_graphs", "sync_in_step", "alloc_hot_path", "host_copies_in_loop"}},
    {"launch_bound",
     LaunchBound,
     {"opaque_graphs", "sync_in_step", "alloc_hot_path", "host_copies_in_loop", "small_kernels"}},
    {"gpu_idle_host_bound",
     GpuIdleHostBound,
     {"opaque_graphs", "sync_in_step", "alloc_hot_path", "host_copies_in_loop", "small_kernels", "launch_bound"}},
    {"slow_device", SlowDevice},
    {"persistent_straggler", PersistentStraggler},
    {"exposed_wait", ExposedWait, {"slow_device", "persistent_straggler"}},
    {"exposed_transfer", ExposedTransfer, {"persistent_straggler"}},
    {"nccl_imbalance", NcclImbalance, {"slow_device", "persistent_straggler", "exposed_wait", "exposed_transfer"}},
    {"attention_dominates", AttentionDominates, {"opaque_graphs"}},
    {"copies_dominate", CopiesDominate, {"opaque_graphs", "host_copies_in_loop"}},
    {"kernel_tail", KernelTail},
    {"outliers", Outliers, {"kernel_tail"}},
    {"prefill_blocks_decode", PrefillBlocksDecode},
    {"workload_class",
     WorkloadBound,
     {"opaque_graphs", "sync_in_step", "alloc_hot_path", "host_copies_in_loop", "small_kernels", "launch_bound",
      "gpu_idle_host_bound", "slow_device", "persistent_straggler", "exposed_transfer", "exposed_wait",
      "attention_dominates", "copies_dominate"}},
});

bool IsExplained(const Entry& entry, const std::set<std::string_view>& held) {
  return std::any_of(entry.explained_by.begin(), entry.explained_by.end(),
                     [&](std::string_view id) { return !id.empty() && held.contains(id); });
}

}  // namespace

std::string_view Name(Severity severity) {
  switch (severity) {
    case Severity::kMajor:
      return "major";
    case Severity::kMinor:
      return "minor";
    case Severity::kInfo:
      break;
  }
  return "info";
}

std::vector<std::string_view> FindingIds() {
  std::vector<std::string_view> ids;
  for (const Entry& entry : kCatalogue) ids.push_back(entry.id);
  return ids;
}

std::vector<Finding> ComputeFindings(const FindingsInput& input) {
  const Facts facts = CollectFacts(input);
  std::vector<Finding> findings;
  std::set<std::string_view> held;
  for (const Entry& entry : kCatalogue) {
    std::vector<Finding> found = entry.check(input, facts);
    if (found.empty() || IsExplained(entry, held)) continue;
    held.insert(entry.id);
    for (Finding& finding : found) {
      finding.id = entry.id;
      findings.push_back(std::move(finding));
    }
  }
  const auto key = [](const Finding& f) {
    return std::pair(f.saving_ratio.value_or(-1.0), static_cast<int>(f.severity));
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return key(a) > key(b); });
  return findings;
}

}  // namespace lockstep
