#include "bench/simulator/run/condensed_run.h"

#include <map>
#include <utility>
#include <vector>

#include "aggregator/store/memory/memory_store.h"
#include "analysis/base/status_macros.h"
#include "analysis/model/batch.h"
#include "analysis/model/received_batch.h"
#include "bench/simulator/run/condensed_files.h"

namespace lockstep {
namespace {

constexpr const char* kRunName = "simulated";

class StoreSink : public SourceSink {
 public:
  explicit StoreSink(MemoryStore& store) : store_(store) {}
  absl::Status Begin(const SourceContext& context) override { return store_.PutSource(kRunName, context).status(); }
  absl::Status Take(const Hash128& source_id, const Batch& batch) override {
    // Each batch comes once: its number is all the identity that it needs.
    return store_.PutBatch(kRunName, source_id, {.high = 0, .low = static_cast<uint64_t>(batch.sequence)}, batch);
  }

 private:
  MemoryStore& store_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SimulatedRun>> SimulateCondensed(const SimulatorOptions& options,
                                                                const CondensedRunOptions& what) {
  LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<Scenario> scenario,
                            MakeScenario(options, {.step_times_without = what.step_times_without}, {}));
  MemoryStore store;
  LOCKSTEP_RETURN_IF_ERROR(store.OpenRun(kRunName, -1));
  StoreSink sink(store);
  std::map<Hash128, CondensedSource> kept;
  for (const FileOfRun& file : FilesOf(*scenario)) {
    LOCKSTEP_ASSIGN_OR_RETURN(std::vector<CondensedSource> sources, CondenseRanks(*scenario, file, sink));
    for (CondensedSource& source : sources) kept.emplace(source.id, std::move(source));
  }
  LOCKSTEP_RETURN_IF_ERROR(store.FinishRun(kRunName));
  LOCKSTEP_ASSIGN_OR_RETURN(LoadedRun loaded, store.LoadRun(kRunName));
  auto run = std::make_unique<SimulatedRun>(std::move(scenario));
  run->run = std::move(loaded.data);
  run->instances = std::move(loaded.instances);
  for (const SourceData& source : run->run.sources) {
    CondensedSource& condensed = kept.at(source.context.source_id);
    run->instance_of_row.push_back(std::move(condensed.instances));
    run->rank_of_source.push_back(condensed.rank);
  }
  return run;
}

}  // namespace lockstep
