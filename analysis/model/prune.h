// Asking for old runs to be removed, and what became of each run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep {

struct PruneRequest {
  std::optional<int64_t> older_than_ns;  // remove what nothing was added to for so long
  std::optional<int64_t> keep_bytes;     // then the oldest, until the rest takes no more
  bool dry_run = false;                  // only say
};

struct PruneVerdict {
  std::string run;
  int64_t bytes = 0;            // room that the run takes, estimated
  int64_t changed_unix_ns = 0;  // when something was last added
  bool removed = false;         // or would be, in a dry run
  std::string reason;           // why it is kept; "" = nothing asks for its removal
};

}  // namespace lockstep
