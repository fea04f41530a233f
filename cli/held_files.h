// Which of the files that are asked about a store holds already, unchanged and whole: they are not read again. One
// thread.
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
  // Looks at the files now: what is kept later is kept of what they were before they were read.
  HeldFiles(const std::vector<std::string>& files, const CondenseFileOptions& options);

  // Finds those of which the run has all that they gave. Errors: those of the store.
  absl::Status FindIn(JobStore& store, const std::string& run);
  // A file a slot, in the order given; nullopt = to be read.
  [[nodiscard]] const std::vector<std::optional<FileReport>>& reports() const { return reports_; }
  [[nodiscard]] std::vector<std::string> ToRead() const;

  // Remembers those of the files read that were used whole, have not changed meanwhile, and of which nothing was
  // refused. Errors: those of the store; without it they are read again next time.
  absl::Status KeepIn(JobStore& store, const std::string& run, const std::vector<SentFile>& sent,
                      const std::vector<RefusedUplinkSource>& refused) const;

 private:
  const std::vector<std::string>& files_;
  const CondenseFileOptions& options_;
  std::vector<std::optional<Hash128>> keys_;
  std::vector<std::optional<FileReport>> reports_;
};

}  // namespace lockstep
