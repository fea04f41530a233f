// The batches of a stored run as they came over the wire, for sending them again. Throws nothing; pure but for the
// store.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "aggregator/store/job_store.h"

namespace lockstep {

// One rank: what it announces, and its batches of collective instances.
struct WireSource {
  SourceContext context;
  std::vector<std::string> bodies;
  int64_t instances = 0;
};

// Communicators, names and instances of every source of the run; tables and steps are left out.
[[nodiscard]] absl::StatusOr<std::vector<WireSource>> WireSourcesOf(LoadedRun& run);

// Decodes its batches as a store is given them.
[[nodiscard]] absl::Status DecodeAll(const WireSource& source);
// Puts the source and its batches into the run "bench" of the store, under that id.
[[nodiscard]] absl::Status PutAll(JobStore& store, const WireSource& source, const Hash128& id);

}  // namespace lockstep
