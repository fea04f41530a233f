// Which runs go when room is needed. The decision is pure; the removal goes through the RunOpener, so that no run goes
// that an agent is sending.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "aggregator/ingest/run_opener.h"
#include "aggregator/store/job_store.h"
#include "analysis/model/prune.h"

namespace lockstep {

// An incomplete run to which something was added so recently counts as being written: the agent that sends it may be
// between two connections, or write to the same store through another process.
inline constexpr int64_t kMayStillComeNs = int64_t{600} * 1'000'000'000;

// Oldest first (by time of the last change, then by name). `is_written` tells the runs that have an open stream.
[[nodiscard]] std::vector<PruneVerdict> PlanPrune(std::vector<RunUsage> runs, const PruneRequest& request,
                                                  int64_t now_unix_ns,
                                                  const std::function<bool(const std::string&)>& is_written);

// Plans and, unless it is a dry run, removes, and gives the room back. kInvalidArgument: nothing or a negative value is
// asked for. Runs for which `may` is false are not even named.
absl::StatusOr<std::vector<PruneVerdict>> Prune(JobStore& store, RunOpener& opener, const PruneRequest& request,
                                                int64_t now_unix_ns,
                                                const std::function<bool(const std::string&)>& may);

}  // namespace lockstep
