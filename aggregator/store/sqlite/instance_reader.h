// Streams of instances out of the store, over the snapshot of one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"
#include "platform/sqlite.h"

namespace lockstep {

struct StoredInstances {
  int64_t source = 0;           // row id
  std::vector<uint32_t> names;  // id of the run's dictionary by id of the stream
  size_t communicators = 0;     // of the source
};

// `sources` in the order of RunData::sources; `db` is in a reading transaction. The result is thread safe: a mutex
// guards the connection, decoding happens outside it. Its streams may outlive it.
[[nodiscard]] std::unique_ptr<InstanceSource> MakeInstanceSource(Database db, std::vector<StoredInstances> sources);

}  // namespace lockstep
