#include <fmt/format.h>

#include "aggregator/store/job_store.h"
#include "aggregator/store/memory/memory_store.h"
#include "aggregator/store/sqlite/sqlite_store.h"
#include "analysis/base/status_macros.h"
#include "proto/batch_codec.h"
#include "proto/instance_codec.h"

namespace lockstep {

absl::StatusOr<std::unique_ptr<JobStore>> OpenStore(std::string_view backend, const StoreOptions& options) {
  if (backend == "memory" || (backend == "sqlite" && options.path.empty())) {
    return std::make_unique<MemoryStore>(*options.clock, options.limits,
                                         InstancePacking{.pack = PackedInstancesOf, .unpack = UnpackInstances});
  }
  if (backend == "sqlite") {
    LOCKSTEP_ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> store,
                              SqliteStore::Open(options.path, *options.clock, options.limits));
    return store;
  }
  return absl::InvalidArgumentError(fmt::format("store backend '{}': there are 'sqlite' and 'memory'", backend));
}

}  // namespace lockstep
