// The checks behind the catalogue of findings, by what they look at. Each tells nothing when its condition does not
// hold. The id is set by the catalogue. Thresholds and their reasons: docs/algorithms/verdicts.md. Pure.
#pragma once

#include <vector>

#include "analysis/metrics/findings/facts.h"

namespace lockstep {

using Check = std::vector<Finding> (*)(const FindingsInput& input, const Facts& facts);

// host_findings.cc: the device waits for its host.
[[nodiscard]] std::vector<Finding> GpuIdleHostBound(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> LaunchBound(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> SmallKernels(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> SyncInStep(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> AllocHotPath(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> HostCopiesInLoop(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> OpaqueGraphs(const FindingsInput& input, const Facts& facts);

// communication_findings.cc: ranks wait for each other, or for the network.
[[nodiscard]] std::vector<Finding> ExposedWait(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> ExposedTransfer(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> NcclImbalance(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> PersistentStraggler(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> SlowDevice(const FindingsInput& input, const Facts& facts);

// work_findings.cc: what the devices do.
[[nodiscard]] std::vector<Finding> AttentionDominates(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> CopiesDominate(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> KernelTail(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> Outliers(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> PrefillBlocksDecode(const FindingsInput& input, const Facts& facts);
[[nodiscard]] std::vector<Finding> WorkloadBound(const FindingsInput& input, const Facts& facts);

}  // namespace lockstep
