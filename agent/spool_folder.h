// A spool folder in use by this process: lock, ledger and spool, brought into agreement.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/spool/ledger.h"
#include "agent/spool/spool.h"
#include "agent/spool/spool_sender.h"
#include "platform/durable_file.h"

namespace lockstep {

struct SpoolFolder {
  FileLock lock;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<Spool> spool;
  SpoolCodec codec;
  std::vector<std::string> again;  // files to condense (again): left in work, or lost with what was damaged

  // Files of which something is neither acknowledged nor in the spool: no longer taken.
  [[nodiscard]] std::vector<std::string> ForgetWhatIsNotWhole() const;
};

// Those of files to be condensed again that are there; each is told, with `why`.
[[nodiscard]] std::vector<std::string> StillThere(const std::vector<std::string>& paths, std::string_view why);

// Makes the folder if it is not there. kAlreadyExists when another agent uses it; kFailedPrecondition when it holds
// another run's data. What was lost is logged.
absl::StatusOr<std::unique_ptr<SpoolFolder>> OpenSpoolFolder(const std::string& folder, int64_t max_bytes,
                                                             const std::string& run);

}  // namespace lockstep
