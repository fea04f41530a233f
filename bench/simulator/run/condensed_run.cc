#include "bench/simulator/run/condensed_run.h"

#include <map>
#include <utility>
#include <vector>

#include "aggregator/store/memory/memory_store.h"
#include "analysis/base/status_macros.h"
#include "analysis/condense/condenser.h"
#include "bench/simulator/run/rank_records.h"

namespace lockstep {
namespace {

constexpr const char* kRunName = "simulated";

struct KeptSource {
  Hash128 id;
  int32_t rank = -1;
  std::vector<int64_t> instances;
};

absl::StatusOr<KeptSource> Condense(RankRecords records, int32_t rank, MemoryStore& store) {
  LOCKSTEP_RETURN_IF_ERROR(store.PutSource(kRunName, records.context).status());
  const Hash128 id = records.context.source_id;
  Condenser condenser(
      CondenseInput{records.context, records.names, records.steps, records.host_by_step, records.largest_names},
      [&](const Batch& batch) {
        // Each batch comes once: its number is all the identity that it needs.
        return store.PutBatch(kRunName, id, {.high = 0, .low = static_cast<uint64_t>(batch.sequence)}, batch);
      });
  for (const ActivityRecord& record : records.records) LOCKSTEP_RETURN_IF_ERROR(condenser.Add(record));
  LOCKSTEP_RETURN_IF_ERROR(condenser.Finish({}, records.drops));
  return KeptSource{.id = id, .rank = rank, .instances = std::move(records.instances)};
}

class CondensedFiles {
 public:
  CondensedFiles(const Scenario& scenario, MemoryStore& store) : scenario_(scenario), store_(store) {}

  absl::Status AddAll() {
    for (int32_t rank = 0; rank < scenario_.cluster.world();) {
      const RanksOfFile file = FileOf(scenario_, rank, TraceOfRank::kOwn);
      if (scenario_.defects.missing_rank != rank) LOCKSTEP_RETURN_IF_ERROR(Add(file, TraceOfRank::kOwn));
      rank = scenario_.defects.missing_rank == rank ? rank + 1 : file.last + 1;
    }
    if (!scenario_.duplicate) return absl::OkStatus();
    const int32_t rank = *scenario_.defects.duplicate_rank;
    return Add({rank, rank}, TraceOfRank::kDuplicate);
  }

  [[nodiscard]] KeptSource& At(const Hash128& id) { return kept_.at(id); }

 private:
  // What the reader dropped stands in the source with most kernel time.
  absl::Status Add(const RanksOfFile& file, TraceOfRank which) {
    std::vector<RankRecords> sources;
    size_t main = 0;
    DropCounters of_file;
    for (int32_t rank = file.first; rank <= file.last; ++rank) {
      sources.push_back(RecordsOf(scenario_, rank, which));
      of_file.Merge(sources.back().file_drops);
      if (sources.back().context.kernel_time_ns > sources[main].context.kernel_time_ns) main = sources.size() - 1;
    }
    sources[main].drops.Merge(of_file);
    for (size_t i = 0; i < sources.size(); ++i) {
      const int32_t rank = file.first + static_cast<int32_t>(i);
      LOCKSTEP_ASSIGN_OR_RETURN(KeptSource kept, Condense(std::move(sources[i]), rank, store_));
      kept_.emplace(kept.id, std::move(kept));
    }
    return absl::OkStatus();
  }

  const Scenario& scenario_;
  MemoryStore& store_;
  std::map<Hash128, KeptSource> kept_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SimulatedRun>> SimulateCondensed(const SimulatorOptions& options,
                                                                const CondensedRunOptions& what) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<Scenario> scenario,
                            MakeScenario(options, {.step_times_without = what.step_times_without}, {}));
  MemoryStore store;
  LOCKSTEP_RETURN_IF_ERROR(store.OpenRun(kRunName, -1));
  CondensedFiles files(*scenario, store);
  LOCKSTEP_RETURN_IF_ERROR(files.AddAll());
  LOCKSTEP_RETURN_IF_ERROR(store.FinishRun(kRunName));
  LOCKSTEP_ASSIGN_OR_RETURN(LoadedRun loaded, store.LoadRun(kRunName));
  auto run = std::make_unique<SimulatedRun>(std::move(scenario));
  run->run = std::move(loaded.data);
  run->instances = std::move(loaded.instances);
  for (const SourceData& source : run->run.sources) {
    KeptSource& kept = files.At(source.context.source_id);
    run->instance_of_row.push_back(std::move(kept.instances));
    run->rank_of_source.push_back(kept.rank);
  }
  return run;
}

}  // namespace lockstep
