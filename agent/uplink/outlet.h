// Where the batches of condensed files go: the uplink itself, or a spool before it. Called from any thread.
#pragma once

#include <absl/status/status.h>

#include <cstdint>

#include "agent/uplink/messages.h"

namespace lockstep {

class Outlet {
 public:
  virtual ~Outlet() = default;
  // Announces the source; again for a known one changes nothing.
  virtual absl::Status BeginSource(const SourceContext& context) = 0;
  // False: this batch was taken before, or will not be.
  [[nodiscard]] virtual bool Wants(const Hash128& source_id, int64_t sequence) = 0;
  // Waits for room. A batch that is not wanted any more is dropped.
  virtual absl::Status Push(OutgoingBatch batch) = 0;
  virtual absl::Status AddNote(FileNote note) = 0;
};

}  // namespace lockstep
