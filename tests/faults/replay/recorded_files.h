// What an agent would send of some trace files, kept in memory so that it can be said again, twice and backwards.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "agent/uplink/messages.h"

namespace lockstep {

struct RecordedSource {
  SourceContext context;
  std::vector<OutgoingBatchPtr> batches;  // in sequence, whole
};

struct RecordedFiles {
  std::vector<RecordedSource> sources;
  std::vector<FileNote> notes;  // one a file
};

// Condenses as lockstep-agent --host `host` does. Fails for a file that an agent could not send.
absl::StatusOr<RecordedFiles> Record(const std::vector<std::string>& paths, const std::string& host);

}  // namespace lockstep
