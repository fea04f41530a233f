// One dictionary for all snapshots of a run that grows: a name keeps its number, whatever comes later.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "aggregator/store/job_store.h"

namespace lockstep {

// Not thread safe.
class StableNames {
 public:
  // Numbers the names of a snapshot, in its tables and in the instances that are read from it later. Errors: kDataLoss,
  // a row refers to a name that is not there.
  [[nodiscard]] absl::Status Apply(LoadedRun& loaded);

 private:
  [[nodiscard]] uint32_t NumberOf(const std::string& text);

  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace lockstep
