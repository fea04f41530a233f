#include "analysis/metrics/match/collective_rows.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "analysis/base/executor.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr int64_t kFineTickNs = 32;  // granularity of the timers of recent GPUs

// Readers keep times within these bounds; a store that was tampered with must not make the arithmetic overflow.
CollectiveRow Compact(const InstanceRow& row) {
  CollectiveRow out;
  out.start_ns = std::clamp(row.start_ns, -kMaxAbsTimeNs, kMaxAbsTimeNs);
  out.end_ns = out.start_ns + std::clamp<int64_t>(row.duration_ns, 0, kMaxAbsTimeNs);
  out.seq = row.seq;
  out.bytes = row.bytes;
  out.step = row.step;
  out.comms_id = row.comms_id;
  out.communicator = row.communicator;
  out.peer = row.peer;
  out.root = row.root;
  out.stream = row.graph_launch >= 0 ? -1 : row.stream;
  out.op = row.op;
  out.dtype = row.dtype;
  out.library = row.library;
  out.has_comms_id = row.has_comms_id;
  return out;
}

// A device runs no two kernels of one stream at once: a row equal in everything to one before it is the same record.
bool RepeatsOneOf(const std::vector<CollectiveRow>& before, const CollectiveRow& row) {
  constexpr int kReach = 8;
  int seen = 0;
  for (auto at = before.rbegin(); at != before.rend() && at->start_ns == row.start_ns && seen < kReach; ++at, ++seen) {
    if (!at->duplicate && *at == row) return row.end_ns > row.start_ns && row.stream >= 0;
  }
  return false;
}

absl::StatusOr<RankRows> LoadRank(const RunData& run, InstanceSource& instances, size_t source, bool alone) {
  const SourceData& data = run.sources[source];
  const bool steps_are_shared = alone || !NumbersItsOwnSteps(data.context.step_source);
  RankRows out;
  out.nsys = data.context.format == "nsys";
  if (instances.RowCount(source) == 0) return out;
  bool whole_us = true;
  out.rows.reserve(ExpectedInstances(run, instances, source));
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<InstanceStream> stream, instances.Open(source));
  while (true) {
    LOCKSTEP_ASSIGN_OR_RETURN(const std::span<const InstanceRow> block, stream->Next());
    if (block.empty()) break;
    for (const InstanceRow& row : block) {
      whole_us = whole_us && row.start_ns % kNsPerUs == 0 && row.duration_ns % kNsPerUs == 0;
      CollectiveRow compact = Compact(row);
      if (!steps_are_shared) compact.step = kNoStep;
      compact.duplicate = RepeatsOneOf(out.rows, compact);
      out.rows.push_back(compact);
    }
  }
  out.tick_ns = whole_us ? kNsPerUs : kFineTickNs;
  return out;
}

}  // namespace

absl::StatusOr<std::vector<RankRows>> LoadCollectiveRows(const RunData& run, InstanceSource& instances,
                                                         const RankResolution& ranks, Executor& executor) {
  const bool alone = ranks.ranks.size() == 1;
  std::vector<absl::StatusOr<RankRows>> slots(ranks.ranks.size(), absl::UnknownError("not loaded"));
  executor.ParallelFor(slots.size(),
                       [&](size_t r) { slots[r] = LoadRank(run, instances, ranks.ranks[r].source, alone); });
  std::vector<RankRows> out;
  for (auto& slot : slots) {
    LOCKSTEP_RETURN_IF_ERROR(slot.status());
    out.push_back(*std::move(slot));
  }
  return out;
}

}  // namespace lockstep
