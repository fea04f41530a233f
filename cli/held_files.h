// Finds the input files that a store holds already, unchanged and whole, so that they are not read again. One thread.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/condense_and_send.h"
#include "agent/uplink/uplink_session.h"
#include "aggregator/store/job_store.h"
#include "analysis/base/hash128.h"

namespace lockstep {

class HeldFiles {
 public:
  // Looks at the files now: what is kept later is kept of what they were before they were read. `lasts`: false for a
  // store that goes with the process, which recognises none. Files and options must outlive it.
  HeldFiles(const std::vector<std::string>& files, const CondenseFileOptions& options, bool lasts);

  // Finds the files that would change nothing if they were read again: the run has all of their data, and names its
  // sources as they would. None without the run. Errors: those of the store.
  absl::Status FindIn(JobStore& store, const std::string& run);
  // A file a slot, in the order given; nullopt = to be read.
  [[nodiscard]] const std::vector<std::optional<FileReport>>& reports() const { return reports_; }
  [[nodiscard]] std::vector<std::string> ToRead() const;

  // Remembers those of the files read that were used whole, have not changed meanwhile, and of which the run has what
  // they gave. Errors: those of the store; without it they are read again next time.
  absl::Status KeepIn(JobStore& store, const std::string& run, const std::vector<SentFile>& sent) const;

 private:
  const std::vector<std::string>& files_;
  const CondenseFileOptions& options_;
  std::vector<std::optional<Hash128>> keys_;
  std::vector<std::optional<FileReport>> reports_;
};

// The sent files of which the run has all data, batch by batch. A source that was complete before takes nothing from a
// file that is read again; if the file has changed, it is missing here. Errors: those of the store.
[[nodiscard]] absl::StatusOr<std::vector<SentFile>> TakenWhole(JobStore& store, const std::string& run,
                                                               const std::vector<SentFile>& sent);

}  // namespace lockstep
