#include "bench/simulator/run/condensed_files.h"

#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/condense/condenser.h"
#include "analysis/model/batch.h"

namespace lockstep {
namespace {

// As the join counts them.
std::vector<uint32_t> ActivitiesByStep(const RankRecords& records) {
  std::vector<uint32_t> counts(records.steps.size(), 0);
  for (const ActivityRecord& record : records.records) {
    if (record.step >= 0 && !IsOffDevice(record)) ++counts[static_cast<size_t>(record.step)];
  }
  return counts;
}

absl::StatusOr<CondensedSource> Condense(RankRecords records, int32_t rank, SourceSink& sink) {
  LOCKSTEP_RETURN_IF_ERROR(sink.Begin(records.context));
  const Hash128 id = records.context.source_id;
  Condenser condenser(CondenseInput{.context = records.context,
                                    .names = records.names,
                                    .steps = records.steps,
                                    .host_by_step = records.host_by_step,
                                    .largest_names = records.largest_names,
                                    .activities_by_step = ActivitiesByStep(records)},
                      [&](const Batch& batch) { return sink.Take(id, batch); });
  for (const ActivityRecord& record : records.records) LOCKSTEP_RETURN_IF_ERROR(condenser.Add(record));
  LOCKSTEP_RETURN_IF_ERROR(condenser.Finish({}, records.drops));
  return CondensedSource{.id = id, .rank = rank, .instances = std::move(records.instances)};
}

}  // namespace

std::vector<FileOfRun> FilesOf(const Scenario& scenario) {
  std::vector<FileOfRun> out;
  for (int32_t rank = 0; rank < scenario.cluster.world();) {
    if (scenario.defects.missing_rank == rank) {
      ++rank;
      continue;
    }
    out.push_back({FileOf(scenario, rank, TraceOfRank::kOwn), TraceOfRank::kOwn});
    rank = out.back().ranks.last + 1;
  }
  if (scenario.duplicate) {
    const int32_t rank = *scenario.defects.duplicate_rank;
    out.push_back({{rank, rank}, TraceOfRank::kDuplicate});
  }
  return out;
}

// What the reader dropped stands in the source with most kernel time.
absl::StatusOr<std::vector<CondensedSource>> CondenseRanks(const Scenario& scenario, const FileOfRun& file,
                                                           SourceSink& sink) {
  std::vector<RankRecords> sources;
  size_t main = 0;
  DropCounters of_file;
  for (int32_t rank = file.ranks.first; rank <= file.ranks.last; ++rank) {
    sources.push_back(RecordsOf(scenario, rank, file.which));
    of_file.Merge(sources.back().file_drops);
    if (sources.back().context.kernel_time_ns > sources[main].context.kernel_time_ns) main = sources.size() - 1;
  }
  sources[main].drops.Merge(of_file);
  std::vector<CondensedSource> out;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int32_t rank = file.ranks.first + static_cast<int32_t>(i);
    LOCKSTEP_ASSIGN_OR_RETURN(CondensedSource condensed, Condense(std::move(sources[i]), rank, sink));
    out.push_back(std::move(condensed));
  }
  return out;
}

}  // namespace lockstep
