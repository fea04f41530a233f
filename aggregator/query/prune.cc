#include "aggregator/query/prune.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

constexpr const char* kBeingWritten = "being written";

std::string WhyKept(const RunUsage& run, bool is_written) {
  if (is_written) return kBeingWritten;
  return run.info.baselines.empty() ? "" : "the baseline " + run.info.baselines.front();
}

bool IsOlder(const RunUsage& a, const RunUsage& b) {
  return std::tie(a.changed_unix_ns, a.info.name) < std::tie(b.changed_unix_ns, b.info.name);
}

}  // namespace

std::vector<PruneVerdict> PlanPrune(std::vector<RunUsage> runs, const PruneRequest& request, int64_t now_unix_ns,
                                    const std::function<bool(const std::string&)>& is_written) {
  std::sort(runs.begin(), runs.end(), IsOlder);
  int64_t left_bytes = 0;
  for (const RunUsage& run : runs) {
    left_bytes += run.bytes;
  }
  std::vector<PruneVerdict> verdicts;
  for (RunUsage& run : runs) {
    const int64_t age_ns = now_unix_ns - run.changed_unix_ns;
    const bool wanted = (request.older_than_ns && age_ns > *request.older_than_ns) ||
                        (request.keep_bytes && left_bytes > *request.keep_bytes);
    const bool written = is_written(run.info.name) || (run.info.state == RunState::kOpen && age_ns < kMayStillComeNs);
    std::string why_kept = WhyKept(run, written);
    const bool goes = wanted && why_kept.empty();
    left_bytes -= goes ? run.bytes : 0;
    verdicts.push_back({.run = std::move(run.info.name),
                        .bytes = run.bytes,
                        .changed_unix_ns = run.changed_unix_ns,
                        .removed = goes,
                        .reason = wanted ? std::move(why_kept) : ""});
  }
  return verdicts;
}

absl::StatusOr<std::vector<PruneVerdict>> Prune(JobStore& store, RunOpener& opener, const PruneRequest& request,
                                                int64_t now_unix_ns,
                                                const std::function<bool(const std::string&)>& may) {
  if ((!request.older_than_ns && !request.keep_bytes) || request.older_than_ns.value_or(0) < 0 ||
      request.keep_bytes.value_or(0) < 0) {
    return absl::InvalidArgumentError("say what may go: an age or a number of bytes to keep, not negative");
  }
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<RunUsage> runs, store.Usage());
  std::erase_if(runs, [&](const RunUsage& run) { return !may(run.info.name); });
  std::vector<PruneVerdict> verdicts =
      PlanPrune(std::move(runs), request, now_unix_ns, [&](const std::string& run) { return opener.IsOpen(run); });
  bool any = false;
  for (PruneVerdict& verdict : verdicts) {
    if (verdict.removed && !request.dry_run) {
      LOCKSTEP_ASSIGN_OR_RETURN(verdict.removed, opener.DropUnlessOpen(verdict.run));
      verdict.reason = verdict.removed ? "" : kBeingWritten;
      any = any || verdict.removed;
    }
  }
  if (any) {
    LOCKSTEP_RETURN_IF_ERROR(store.Reclaim());
  }
  return verdicts;
}

}  // namespace lockstep
